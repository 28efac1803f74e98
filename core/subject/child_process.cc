#include "core/subject/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace reshardcheck {
namespace {

/// The attributes and file actions of one posix_spawn.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void connect(int descriptor, int as) { posix_spawn_file_actions_adddup2(&actions_, descriptor, as); }
  void read_nothing() { posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0); }

  int run(pid_t& process, const ChildOptions& options) {
    std::vector<char*> words;
    for (const std::string& word : options.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::vector<char*> environment;
    for (char** each = environ; *each != nullptr; ++each) {
      if (!replaced(*each, options.environment)) environment.push_back(*each);
    }
    for (const std::string& each : options.environment) environment.push_back(const_cast<char*>(each.c_str()));
    environment.push_back(nullptr);
    return posix_spawnp(&process, words[0], &actions_, &attributes_, words.data(), environment.data());
  }

 private:
  static bool replaced(std::string_view variable, const std::vector<std::string>& by) {
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    for (const std::string& each : by) {
      if (each.starts_with(name)) return true;
    }
    return false;
  }

  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

void close_descriptor(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

ExitStatus status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {true, WTERMSIG(wait_status)};
  return {false, WEXITSTATUS(wait_status)};
}

}  // namespace

std::string to_text(const ExitStatus& status) {
  if (!status.signalled) return "exited with code " + std::to_string(status.number);
  const char* const words = sigdescr_np(status.number);
  return "was killed by signal " + std::to_string(status.number) + " (" + (words == nullptr ? "unknown" : words) + ")";
}

Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == ' ' || letter == '\t') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (letter != '\'' && letter != '"') {
      words.back() += letter;
      continue;
    }
    const std::size_t end = text.find(letter, i + 1);
    if (end == std::string_view::npos) return Error{"a quote is never closed", i};
    words.back() += text.substr(i + 1, end - i - 1);
    i = end;
  }
  if (words.empty() || words[0].empty()) return Error{"a command is missing"};
  return words;
}

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  RESHARDCHECK_CHECK(!options.words.empty());
  int ends[2] = {-1, -1};
  if (options.talk && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{std::string("no socket pair: ") + std::strerror(errno)};
  }
  SpawnPlan plan;
  const int output = options.output >= 0 ? options.output : STDERR_FILENO;
  if (options.talk) {
    plan.connect(ends[1], STDIN_FILENO);
    plan.connect(ends[1], STDOUT_FILENO);
  } else {
    plan.read_nothing();
    plan.connect(output, STDOUT_FILENO);
  }
  if (output != STDERR_FILENO) plan.connect(output, STDERR_FILENO);
  ChildProcess child;
  const int failure = plan.run(child.process_, options);
  close_descriptor(ends[1]);
  if (failure != 0) {
    child.process_ = -1;
    close_descriptor(ends[0]);
    return Error{"cannot start '" + options.words[0] + "': " + std::strerror(failure)};
  }
  child.group_ = child.process_;
  child.channel_ = ends[0];
  if (ends[0] >= 0) fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK);
  return child;
}

ChildProcess::~ChildProcess() { stop(0); }

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      group_(std::exchange(other.group_, -1)),
      channel_(std::exchange(other.channel_, -1)),
      status_(std::exchange(other.status_, std::nullopt)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  stop(0);
  process_ = std::exchange(other.process_, -1);
  group_ = std::exchange(other.group_, -1);
  channel_ = std::exchange(other.channel_, -1);
  status_ = std::exchange(other.status_, std::nullopt);
  return *this;
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (status_ || process_ <= 0) return status_;
  int wait_status = 0;
  if (waitpid(process_, &wait_status, WNOHANG) != process_) return std::nullopt;
  process_ = -1;
  status_ = status_of(wait_status);
  return status_;
}

std::optional<ExitStatus> ChildProcess::wait(std::int64_t deadline_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline_ms);
  auto pause = std::chrono::microseconds(50);
  while (!poll() && process_ > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5'000));
  }
  return poll();
}

ExitStatus ChildProcess::stop(std::int64_t grace_ms) {
  close_descriptor(channel_);
  if (group_ <= 0) return status_.value_or(ExitStatus{});
  if (!poll() && grace_ms > 0) {
    kill(-group_, SIGTERM);
    wait(grace_ms);
  }
  kill(-group_, SIGKILL);  // also what a dead leader left behind
  group_ = -1;
  if (process_ > 0) {
    int wait_status = 0;
    while (waitpid(process_, &wait_status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    status_ = status_of(wait_status);
  }
  return status_.value_or(ExitStatus{});
}

}  // namespace reshardcheck
