// ChildProcess: a process that this one started and will get rid of, whatever it does.
//
// No shell is involved: a command is a list of words. The child leads a process group of its own, so that what it
// starts goes with it. Its standard input and output may be one end of a stream socket (see LineChannel); its standard
// error, and the output it has no socket for, go where the options say.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/result.h"

namespace reshardcheck {

/// How a process ended.
struct ExitStatus {
  bool signalled = false;
  int number = 0;  // exit code, or the signal
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// "exited with code 3", "was killed by signal 11 (Segmentation fault)".
std::string to_text(const ExitStatus& status);

/// The words of a command: split at blanks, '...' and "..." keep theirs. An Error for an open quote or no word.
Result<std::vector<std::string>> split_command(std::string_view text);

struct ChildOptions {
  std::vector<std::string> words;        // the program (looked for in PATH when it has no '/') and its arguments
  std::vector<std::string> environment;  // NAME=VALUE, on top of this process's own
  bool talk = false;                     // connect standard input and output to channel()
  int output = -1;  // a descriptor for standard error (and output, without talk); -1: this process's standard error
};

class ChildProcess {
 public:
  /// The Error says why the program could not be started.
  static Result<ChildProcess> start(const ChildOptions& options);

  ChildProcess() = default;
  ~ChildProcess();  // stop(0)
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  [[nodiscard]] bool started() const { return process_ > 0 || status_.has_value(); }
  [[nodiscard]] pid_t id() const { return process_; }
  /// The stream socket to the child's standard input and output, non-blocking; -1 without talk.
  [[nodiscard]] int channel() const { return channel_; }

  /// How it ended, or nothing while it runs. Does not wait.
  std::optional<ExitStatus> poll();
  /// Waits for its end.
  std::optional<ExitStatus> wait(std::int64_t deadline_ms);
  /// Ends it and its process group: closes the channel, asks with SIGTERM and waits `grace_ms` (0: not at all), then
  /// SIGKILL.
  ExitStatus stop(std::int64_t grace_ms);

 private:
  pid_t process_ = -1;  // until its status has been collected
  pid_t group_ = -1;
  int channel_ = -1;
  std::optional<ExitStatus> status_;
};

}  // namespace reshardcheck
