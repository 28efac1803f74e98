// Three parts: the callbacks, which lead from C to an Endpoint; the session, which leads from a Batch to C; and
// loading. Exceptions of the world do not pass through the library: a callback keeps them, and the session throws
// them on when the library has returned.
#include "core/subject/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>

#include "core/layout/printable.h"
#include "core/subject/abi.h"
#include "core/subject/abi_view.h"
#include "core/subject/capabilities.h"

namespace reshardcheck {
namespace {

constexpr std::size_t max_shown_bytes = 400;   // of what the library or the loader says
constexpr std::size_t max_path_bytes = 4'096;  // the system's own limit
constexpr std::size_t max_option_bytes = 4'096;

static_assert(static_cast<int>(CommStatus::size_mismatch) == RESHARDCHECK_COMM_SIZE_MISMATCH);
static_assert(static_cast<int>(CommStatus::deadlock) == RESHARDCHECK_COMM_DEADLOCK);
static_assert(static_cast<int>(CommStatus::deadline) == RESHARDCHECK_COMM_DEADLINE);
static_assert(static_cast<int>(CommStatus::peer_lost) == RESHARDCHECK_COMM_PEER_LOST);
static_assert(static_cast<int>(CommStatus::killed) == RESHARDCHECK_COMM_KILLED);
static_assert(static_cast<int>(CommStatus::bad_argument) == RESHARDCHECK_COMM_BAD_ARGUMENT);
static_assert(static_cast<int>(MemoryKind::cuda) == RESHARDCHECK_MEMORY_CUDA);
static_assert(static_cast<int>(Reduction::sum) == RESHARDCHECK_SUM);
static_assert(static_cast<int>(Reduction::maximum) == RESHARDCHECK_MAXIMUM);
static_assert(static_cast<int>(Reduction::minimum) == RESHARDCHECK_MINIMUM);

/// Text of the library or the loader as one short line, whatever it holds.
std::string one_line(const char* text) {
  if (text == nullptr) return {};
  std::string line(text, strnlen(text, max_shown_bytes + 1));
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  return printable(line, max_shown_bytes);
}

// --- 1. from C to an endpoint --------------------------------------------------------------------------------------

/// What a callback's context points at.
struct Bridge {
  Endpoint* endpoint = nullptr;  // during open and reshard, otherwise null
  CommStatus first_failure = CommStatus::ok;
  std::exception_ptr thrown;
};

/// Runs call(endpoint), which gives a CommStatus.
template <typename Call>
int communicate(void* context, Call call) noexcept {
  auto* bridge = static_cast<Bridge*>(context);
  CommStatus status = CommStatus::bad_argument;
  if (bridge == nullptr) return static_cast<int>(status);
  try {
    if (bridge->endpoint != nullptr) status = call(*bridge->endpoint);
  } catch (...) {
    if (!bridge->thrown) bridge->thrown = std::current_exception();
  }
  if (bridge->first_failure == CommStatus::ok) bridge->first_failure = status;
  return static_cast<int>(status);
}

template <typename Byte, typename Data>
std::span<Byte> bytes_at(Data* data, std::uint64_t bytes) {
  return {static_cast<Byte*>(data), static_cast<std::size_t>(bytes)};
}

bool has_memory(const void* data, std::uint64_t bytes) { return data != nullptr || bytes == 0; }

/// Requests of the ABI count from 1, so that 0 is none.
template <typename Post>
std::uint64_t post(void* context, bool possible, Post call) noexcept {
  std::uint64_t request = 0;
  communicate(context, [&](Endpoint& endpoint) {
    if (!possible) return CommStatus::bad_argument;
    request = std::uint64_t{call(endpoint)} + 1;
    return CommStatus::ok;
  });
  return request;
}

std::uint64_t post_send(void* context, std::int32_t to, const void* data, std::uint64_t bytes) {
  return post(context, has_memory(data, bytes),
              [&](Endpoint& endpoint) { return endpoint.post_send(to, bytes_at<const std::byte>(data, bytes)); });
}

std::uint64_t post_receive(void* context, std::int32_t from, void* data, std::uint64_t bytes) {
  return post(context, has_memory(data, bytes),
              [&](Endpoint& endpoint) { return endpoint.post_receive(from, bytes_at<std::byte>(data, bytes)); });
}

int wait(void* context, std::uint64_t request) {
  return communicate(context, [&](Endpoint& endpoint) {
    if (request == 0 || request - 1 > std::uint64_t{UINT32_MAX}) return CommStatus::bad_argument;
    return endpoint.wait(static_cast<Request>(request - 1));
  });
}

int send(void* context, std::int32_t to, const void* data, std::uint64_t bytes) {
  return communicate(context, [&](Endpoint& endpoint) {
    if (!has_memory(data, bytes)) return CommStatus::bad_argument;
    return endpoint.send(to, bytes_at<const std::byte>(data, bytes));
  });
}

int receive(void* context, std::int32_t from, void* data, std::uint64_t bytes) {
  return communicate(context, [&](Endpoint& endpoint) {
    if (!has_memory(data, bytes)) return CommStatus::bad_argument;
    return endpoint.receive(from, bytes_at<std::byte>(data, bytes));
  });
}

int barrier(void* context) {
  return communicate(context, [](Endpoint& endpoint) { return endpoint.barrier(); });
}

int broadcast(void* context, std::int32_t root, void* data, std::uint64_t bytes) {
  return communicate(context, [&](Endpoint& endpoint) {
    const bool is_rank = root >= 0 && root < endpoint.world_ranks();
    if (!is_rank || !has_memory(data, bytes)) return CommStatus::bad_argument;
    return endpoint.broadcast(root, bytes_at<std::byte>(data, bytes));
  });
}

int allreduce(void* context, std::uint64_t* values, std::uint64_t count, std::int32_t reduction) {
  return communicate(context, [&](Endpoint& endpoint) {
    const bool known = reduction >= RESHARDCHECK_SUM && reduction <= RESHARDCHECK_MINIMUM;
    if (!known || !has_memory(values, count)) return CommStatus::bad_argument;
    return endpoint.allreduce({values, static_cast<std::size_t>(count)}, static_cast<Reduction>(reduction));
  });
}

reshardcheck_world world_of(Endpoint& endpoint, Bridge& bridge) {
  reshardcheck_world world{};
  world.struct_bytes = sizeof(world);
  world.rank = endpoint.rank();
  world.world_ranks = endpoint.world_ranks();
  world.memory_kind = static_cast<std::int32_t>(endpoint.memory());
  world.context = &bridge;
  world.post_send = post_send;
  world.post_receive = post_receive;
  world.wait = wait;
  world.send = send;
  world.receive = receive;
  world.barrier = barrier;
  world.broadcast = broadcast;
  world.allreduce = allreduce;
  world.intervals = AbiView::intervals;
  return world;
}

}  // namespace

// --- 2. from a batch to C ------------------------------------------------------------------------------------------

struct LibrarySubject::Library {
  decltype(&reshardcheck_subject_abi_version) abi_version = nullptr;
  decltype(&reshardcheck_subject_capabilities) capabilities_of = nullptr;
  decltype(&reshardcheck_subject_open) open = nullptr;
  decltype(&reshardcheck_subject_reshard) reshard = nullptr;
  decltype(&reshardcheck_subject_close) close = nullptr;
  decltype(&reshardcheck_subject_last_error) last_error = nullptr;

  std::string option_text;
  reshardcheck_capabilities capabilities{};
};

class LibrarySubject::LibrarySession : public Session {
 public:
  LibrarySession(std::shared_ptr<const Library> library, Endpoint& endpoint, const SessionOptions& options)
      : library_(std::move(library)),
        world_(world_of(endpoint, bridge_)),
        options_{sizeof(options_), library_->option_text.c_str(), options.topology.domain_ranks,
                 options.topology.anchor, options.chunk_bytes} {
    if ((library_->capabilities.memory_kinds >> static_cast<unsigned>(world_.memory_kind) & 1U) == 0) {
      opened_ = Outcome::unsupported("the subject does not take the memory of this world");
      return;
    }
    opened_ = call(endpoint, [this] { return library_->open(&world_, &options_, &session_); });
  }

  ~LibrarySession() override {
    if (session_ != nullptr) library_->close(session_);
  }
  LibrarySession(const LibrarySession&) = delete;
  LibrarySession& operator=(const LibrarySession&) = delete;

  Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
    if (!opened_.is_done()) return opened_;
    const std::span<const reshardcheck_tensor> tensors = view_.show(batch);
    return call(endpoint, [&] { return library_->reshard(session_, tensors.data(), tensors.size()); });
  }

 private:
  /// Calls the library with the endpoint within reach of its callbacks.
  template <typename Call>
  Outcome call(Endpoint& endpoint, Call function) {
    struct Reach {
      Bridge& bridge;
      ~Reach() { bridge.endpoint = nullptr; }
    };
    world_.mpi_comm = endpoint.mpi_communicator();
    bridge_ = {&endpoint, CommStatus::ok, nullptr};
    int code = RESHARDCHECK_ERROR;
    {
      const Reach reach{bridge_};
      code = function();
    }
    if (bridge_.thrown) std::rethrow_exception(std::exchange(bridge_.thrown, nullptr));
    return outcome_of(code);
  }

  [[nodiscard]] Outcome outcome_of(int code) const {
    if (code == RESHARDCHECK_DONE) return Outcome::done();
    std::string reason = one_line(library_->last_error(session_));
    if (reason.empty()) reason = "the subject gives no reason";
    if (code == RESHARDCHECK_UNSUPPORTED) return Outcome::unsupported(std::move(reason));
    if (code != RESHARDCHECK_ERROR) reason = fmt::format("the subject returned {}: {}", code, reason);
    return Outcome::error(std::move(reason), bridge_.first_failure);
  }

  std::shared_ptr<const Library> library_;
  Bridge bridge_;
  reshardcheck_world world_;
  reshardcheck_options options_;
  void* session_ = nullptr;
  Outcome opened_;
  AbiView view_;
};

std::unique_ptr<Session> LibrarySubject::open(Endpoint& endpoint, const SessionOptions& options) {
  return std::make_unique<LibrarySession>(library_, endpoint, options);
}

bool LibrarySubject::promises_minimal_traffic() const { return library_->capabilities.minimal_traffic != 0; }

std::optional<std::string> LibrarySubject::unsupported(const Case& value) const {
  return outside_of(library_->capabilities, value);
}

// --- 3. loading ----------------------------------------------------------------------------------------------------

namespace {

/// The path of the file, with a '/' in it, so that the loader does not search for it.
Result<std::string> path_of_file(std::string_view text) {
  const std::string shown = printable(text, max_shown_bytes);
  if (text.empty()) return Error{"lib: needs the path of a shared library, such as lib:./libmine.so"};
  if (text.size() > max_path_bytes) return Error{fmt::format("{}: the path is too long", shown)};
  if (text.find('\0') != std::string_view::npos) return Error{fmt::format("{}: not a path", shown)};
  std::string path(text);
  if (path.find('/') == std::string::npos) path.insert(0, "./");
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return Error{fmt::format("{}: no such file", shown)};
  if (error) return Error{fmt::format("{}: {}", shown, error.message())};
  // Opening a pipe or a device could wait for ever.
  if (status.type() != std::filesystem::file_type::regular) return Error{fmt::format("{}: not a regular file", shown)};
  return path;
}

struct OpenLibrary {
  void* handle = nullptr;
  std::string shown;  // its path in messages

  template <typename Function>
  Status find(const char* symbol, Function& function) const {
    void* const address = dlsym(handle, symbol);
    if (address == nullptr) return Error{fmt::format("{}: the function {} is missing", shown, symbol)};
    static_assert(sizeof(address) == sizeof(function));
    std::memcpy(&function, &address, sizeof(function));
    return Ok{};
  }
};

}  // namespace

Result<std::unique_ptr<Subject>> LibrarySubject::load(std::string_view name) {
  const std::string_view rest = name.substr(prefix.size());
  const std::size_t question = rest.find('?');
  const std::string_view path_text = rest.substr(0, question);
  const auto library = std::make_shared<Library>();
  if (question != std::string_view::npos) library->option_text = rest.substr(question + 1);
  const Result<std::string> path = path_of_file(path_text);
  if (!path) return path.error();
  const std::string shown = printable(path_text, max_shown_bytes);
  if (library->option_text.size() > max_option_bytes) return Error{fmt::format("{}: options are too long", shown)};

  const OpenLibrary file{dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), shown};
  if (file.handle == nullptr) return Error{fmt::format("{}: not a library: {}", shown, one_line(dlerror()))};
  Status found = file.find("reshardcheck_subject_abi_version", library->abi_version);
  if (!found) return found.error();
  const std::uint32_t version = library->abi_version();
  if (version != RESHARDCHECK_ABI_VERSION) {
    return Error{
        fmt::format("{}: it speaks ABI version {}, this build speaks {}", shown, version, RESHARDCHECK_ABI_VERSION)};
  }
  for (Status status : {file.find("reshardcheck_subject_capabilities", library->capabilities_of),
                        file.find("reshardcheck_subject_open", library->open),
                        file.find("reshardcheck_subject_reshard", library->reshard),
                        file.find("reshardcheck_subject_close", library->close),
                        file.find("reshardcheck_subject_last_error", library->last_error)}) {
    if (!status) return status.error();
  }
  library->capabilities.struct_bytes = sizeof(library->capabilities);
  library->capabilities_of(&library->capabilities);
  const Status usable = check_capabilities(library->capabilities);
  if (!usable) return Error{fmt::format("{}: {}", shown, usable.error().reason)};
  return std::unique_ptr<Subject>(new LibrarySubject(std::string(name), library));
}

}  // namespace reshardcheck
