// Fiber: a stack of its own on which functions run one after another, each of which can stop and go on later.
//
// The simulated world gives every rank one. Switching is Boost.Context's assembly (a few nanoseconds); what is ours
// is what surrounds it: stacks with guard pages that are kept for the next run, the sanitizers told about every
// switch, and the C++ exception state carried along, so that a body may throw, catch, and wait inside a handler.
// Boost's fiber class is not used because it enters a new stack once, unannounced, when it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace reshardcheck {

class Fiber {
 public:
  using Function = void (*)(void* argument);

  /// Maps the stack (memory is committed as it is touched); throws std::bad_alloc when the system has no more.
  /// Without a guard page an overflow is not caught; see FiberPool.
  explicit Fiber(bool guarded);
  /// Only an idle fiber may be destroyed: frames of an unfinished function are not unwound.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs function(argument) on this stack until it suspends or returns. The fiber must be idle. The function must
  /// not throw.
  void start(Function function, void* argument);
  /// Goes on after suspend(), until the next suspend() or the end.
  void resume();
  /// Called by the running function: goes back to whoever called start() or resume().
  void suspend();
  /// True when no function is under way.
  [[nodiscard]] bool idle() const;

  /// Bytes of stack that a function has.
  static std::size_t stack_bytes();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

/// Idle fibers for reuse. A run of thousands of ranks gets as many stacks as it needs, but only `hot_fibers` stay
/// afterwards. Guard pages cost the kernel two mappings a stack, and a process has about 65,000 of them; worlds with
/// more than `guarded_fibers` blocked at one time go without on the rest.
class FiberPool {
 public:
  static constexpr std::size_t hot_fibers = 1'024;
  static constexpr std::size_t guarded_fibers = 16'384;

  std::unique_ptr<Fiber> take();
  void give_back(std::unique_ptr<Fiber> fiber);

 private:
  std::vector<std::unique_ptr<Fiber>> idle_;
  std::size_t lent_ = 0;
};

}  // namespace reshardcheck
