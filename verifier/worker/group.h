// WorkerGroup: the driver's side of a worker: starts it, talks to it, and gets rid of it when it crashes or hangs.
//
// A group is one process (`reshardcheck worker`), or what a launch command such as `mpirun -np 8` makes of it. It is
// kept from case to case and made again when it is lost. Every wait is bounded: the start, and each case by
//
//     base + 5 x the median of the cases so far + the time to move the case's bytes at 100 MB/s
//
// Within the group, worlds that have a clock give up at half of that, and can then say which ranks waited for whom.
// What the group prints is read away; its last lines are kept for the report of a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/result.h"
#include "core/subject/child_process.h"
#include "core/subject/line_channel.h"
#include "verifier/worker/protocol.h"

namespace reshardcheck {

struct WorkerOptions {
  std::string binary;  // the program that has a worker command; usually this very one
  std::string world = "sim";
  std::vector<std::string> launch;  // words before the binary, such as {"mpirun", "-np", "8"}
  ExecutorOptions executor;
  std::int64_t start_ms = 60'000;                          // from the start of the process to its hello
  std::int64_t case_ms = 10'000;                           // the base of the bound on a case
  std::function<bool()> cancelled = [] { return false; };  // a start is then given up
  std::string output_file;  // what the group prints is appended to it; empty: kept for reports only
};

/// How a request to a worker ended.
struct WorkerAnswer {
  enum class Kind : std::uint8_t { reply, crashed, hung, not_started };
  Kind kind = Kind::reply;
  WorkerReply reply;
  std::string what;  // crashed: how; hung: in which time; not_started: why
};

class WorkerGroup {
 public:
  explicit WorkerGroup(WorkerOptions options);
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  [[nodiscard]] const WorkerOptions& options() const;

  /// Starts the group if it is not running. The Error says why it did not come up.
  Status start();
  /// Of the running group, or of the one before; 0 when none has come up yet.
  [[nodiscard]] std::int64_t max_world_ranks() const;

  /// Sends a request and waits for the reply. A group that crashed, hung or spent its world is gone afterwards, and the
  /// next request starts another. `bytes` is what a case has to move.
  WorkerAnswer ask(WorkerRequest request, std::int64_t bytes);

  /// The bound on a case that moves so many bytes, at this moment.
  [[nodiscard]] std::int64_t bound_ms(std::int64_t bytes) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
