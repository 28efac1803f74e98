// A reshardcheck that is watched, disturbed and killed while it runs, with everything that it started.
//
// Each driver gets a temporary folder and a mark in its environment, which all that it starts inherit: so a process
// that it left behind is found wherever it hangs in the tree of processes, and so is a folder.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/subject/child_process.h"
#include "core/subject/line_channel.h"
#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {

/// The library that misbehaves as told where target shards differ in size (see its source), as --subject takes it.
std::string misbehaving_subject(const std::string& what);

/// A process that carries a driver's mark.
struct MarkedProcess {
  pid_t id = 0;
  std::string command;  // the words, with blanks between
  int mpi_rank = -1;    // as Open MPI tells it; -1: none
};

class Driver {
 public:
  /// `launcher` are words before the binary's own.
  explicit Driver(const std::vector<std::string>& arguments, const std::vector<std::string>& launcher = {});
  ~Driver();  // kills all that is left
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] pid_t id() const { return child_.id(); }

  /// The next whole line of standard output; nothing when it has ended, or after a minute.
  std::optional<std::string> next_line();
  /// SIGKILL for the driver alone; then what it had printed can still be read.
  void kill_alone();
  /// Reads to the end and waits for it: what is read here and the exit code.
  Ran end();

  /// What it started and still runs, without itself.
  [[nodiscard]] std::vector<MarkedProcess> started() const;
  /// Waits for all of that to be gone, for up to `seconds`. What is left, a line each: processes and, unless the driver
  /// was killed, temporary files.
  std::string left_behind(int seconds);

 private:
  Folder folder_;
  std::string mark_;
  bool killed_ = false;
  int errors_ = -1;
  ChildProcess child_;
  LineChannel lines_;
};

/// A campaign that has come to a case in which its subject hangs, with all the time in the world.
struct HangingCampaign {
  std::unique_ptr<Driver> driver;
  std::string text;  // of the case, which its corpus says is running; empty when it never came to that
};
/// `where` are more flags, for a world and a launcher.
HangingCampaign hanging_campaign(const std::string& corpus, const std::vector<std::string>& where);

/// Sends a signal to the wanted of the processes that a driver started; it stands still meanwhile, so that it does not
/// come to its end before. How many there were.
int signal_started(const Driver& driver, int signal, const std::function<bool(const MarkedProcess&)>& wanted);

/// Runs to the end; also what it left behind, which is nothing when all is well.
struct CleanRan {
  Ran ran;
  std::string left_behind;
};
CleanRan run_watched(const std::vector<std::string>& arguments);

}  // namespace reshardcheck::cli_test
