// How a switch is done: the caller's exception state is put aside, the sanitizers are told, Boost jumps; and the
// same in reverse on the way back. Everything that touches thread-local state happens on the caller's side, so a
// fiber may be resumed by another thread than the one that made it.
#include "core/world/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstring>
#include <new>
#include <utility>

#include "core/layout/result.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RESHARDCHECK_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define RESHARDCHECK_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define RESHARDCHECK_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define RESHARDCHECK_TSAN 1
#endif

#if defined(RESHARDCHECK_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(RESHARDCHECK_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace reshardcheck {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

#if defined(RESHARDCHECK_ASAN) || defined(RESHARDCHECK_TSAN)
constexpr std::size_t bytes_of_stack = std::size_t{512} << 10;  // instrumented frames are several times larger
#else
constexpr std::size_t bytes_of_stack = std::size_t{128} << 10;
#endif

/// The memory of one stack: an optional guard page below, then the stack, which grows down towards it.
class Stack {
 public:
  explicit Stack(bool guarded) : guard_bytes_(guarded ? static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0) {
    void* memory = mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    if (guarded && mprotect(memory_, guard_bytes_, PROT_NONE) != 0) {
      munmap(memory_, mapped_bytes());
      throw std::bad_alloc();
    }
    // Neighbours without guards merge into one mapping, which must not be backed by huge pages.
    if (!guarded) madvise(memory_, mapped_bytes(), MADV_NOHUGEPAGE);
  }
  ~Stack() {
#if defined(RESHARDCHECK_ASAN)
    __asan_unpoison_memory_region(bottom(), bytes_of_stack);  // the addresses will be someone else's
#endif
    munmap(memory_, mapped_bytes());
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  [[nodiscard]] std::byte* bottom() const { return memory_ + guard_bytes_; }
  [[nodiscard]] std::byte* top() const { return bottom() + bytes_of_stack; }

 private:
  [[nodiscard]] std::size_t mapped_bytes() const { return guard_bytes_ + bytes_of_stack; }

  std::size_t guard_bytes_;
  std::byte* memory_ = nullptr;
};

/// What the C++ runtime knows of the exceptions being handled: the fields of __cxa_eh_globals in the Itanium ABI.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;

  /// Installs `next` as the thread's state and returns what was there.
  static ExceptionState exchange(const ExceptionState& next) {
    auto* globals = reinterpret_cast<char*>(abi::__cxa_get_globals());
    ExceptionState previous;
    std::memcpy(&previous.caught, globals, sizeof(previous.caught));
    std::memcpy(&previous.uncaught, globals + sizeof(previous.caught), sizeof(previous.uncaught));
    std::memcpy(globals, &next.caught, sizeof(next.caught));
    std::memcpy(globals + sizeof(next.caught), &next.uncaught, sizeof(next.uncaught));
    return previous;
  }
};

}  // namespace

struct Fiber::Core {
  explicit Core(bool guarded) : stack(guarded) {
    context = make_fcontext(stack.top(), bytes_of_stack, &Core::enter);
#if defined(RESHARDCHECK_TSAN)
    tsan_fiber = __tsan_create_fiber(0);
#endif
  }
  ~Core() {
    RESHARDCHECK_CHECK(function == nullptr);
    if (entered) switch_in();  // without a function: the loop in enter() ends, the sanitizer drops the stack
#if defined(RESHARDCHECK_TSAN)
    __tsan_destroy_fiber(tsan_fiber);
#endif
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// From the caller to the fiber, until the fiber switches out.
  void switch_in() {
    const ExceptionState callers = ExceptionState::exchange(exceptions);
#if defined(RESHARDCHECK_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, stack.bottom(), bytes_of_stack);
#endif
#if defined(RESHARDCHECK_TSAN)
    tsan_caller = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_fiber, 0);
#endif
    context = jump_fcontext(context, this).fctx;
#if defined(RESHARDCHECK_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    exceptions = ExceptionState::exchange(callers);
  }

  /// From the fiber back to the caller; returns when the fiber is switched to again, unless this was the last time.
  void switch_out([[maybe_unused]] bool last) {
#if defined(RESHARDCHECK_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack, caller_bottom, caller_bytes);
#endif
#if defined(RESHARDCHECK_TSAN)
    __tsan_switch_to_fiber(tsan_caller, 0);
#endif
    caller = jump_fcontext(caller, nullptr).fctx;
#if defined(RESHARDCHECK_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, &caller_bottom, &caller_bytes);
#endif
  }

  /// The outermost frame of the stack: runs what it is given, parks, and runs the next.
  static void enter(transfer_t transfer) {
    Core& self = *static_cast<Core*>(transfer.data);
    self.caller = transfer.fctx;
#if defined(RESHARDCHECK_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &self.caller_bottom, &self.caller_bytes);
#endif
    self.entered = true;
    while (self.function != nullptr) {
      self.function(self.argument);
      self.function = nullptr;
      self.switch_out(false);
    }
    self.switch_out(true);
    RESHARDCHECK_CHECK(false && "a finished fiber was resumed");
  }

  Stack stack;
  fcontext_t context = nullptr;  // where the fiber goes on
  fcontext_t caller = nullptr;   // where the caller goes on
  Function function = nullptr;
  void* argument = nullptr;
  bool entered = false;
  ExceptionState exceptions;
#if defined(RESHARDCHECK_ASAN)
  const void* caller_bottom = nullptr;
  std::size_t caller_bytes = 0;
#endif
#if defined(RESHARDCHECK_TSAN)
  void* tsan_fiber = nullptr;
  void* tsan_caller = nullptr;
#endif
};

Fiber::Fiber(bool guarded) : core_(std::make_unique<Core>(guarded)) {}
Fiber::~Fiber() = default;

void Fiber::start(Function function, void* argument) {
  RESHARDCHECK_CHECK(idle() && function != nullptr);
  core_->function = function;
  core_->argument = argument;
  core_->switch_in();
}

void Fiber::resume() {
  RESHARDCHECK_CHECK(!idle());
  core_->switch_in();
}

void Fiber::suspend() { core_->switch_out(false); }

bool Fiber::idle() const { return core_->function == nullptr; }

std::size_t Fiber::stack_bytes() { return bytes_of_stack; }

std::unique_ptr<Fiber> FiberPool::take() {
  std::unique_ptr<Fiber> fiber;
  if (idle_.empty()) {
    fiber = std::make_unique<Fiber>(lent_ < guarded_fibers);
  } else {
    fiber = std::move(idle_.back());
    idle_.pop_back();
  }
  ++lent_;
  return fiber;
}

void FiberPool::give_back(std::unique_ptr<Fiber> fiber) {
  RESHARDCHECK_CHECK(fiber->idle() && lent_ > 0);
  --lent_;
  if (idle_.size() < hot_fibers) idle_.push_back(std::move(fiber));
}

}  // namespace reshardcheck
