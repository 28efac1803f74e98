// HostedProcess: one process of a process subject, with the file it shares, and the calls that can be made on it.
//
// Whatever the process does instead of answering (it dies, says nothing in time, writes garbage, asks for bytes that
// are not its own) ends it here: it is killed, failure() says what happened, and who needs a process starts another.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/subject/child_process.h"
#include "core/subject/guardian.h"
#include "core/subject/line_channel.h"
#include "core/subject/process_protocol.h"
#include "core/subject/shared_buffers.h"
#include "core/subject/subject.h"

namespace reshardcheck {

struct ProcessOptions {
  std::int64_t deadline_ms = Patience{}.answer_ms;  // of every wait for a process
  std::int64_t hello_ms = Patience{}.start_ms;      // from the start of a process to its hello
  std::int64_t max_processes = 128;                 // a process per rank: worlds of more ranks are unsupported
  std::int64_t max_requests = 1 << 20;              // what a process may ask of the network in one call
};

/// How a process came to its end before its time.
struct ProcessFailure {
  enum class Kind : std::uint8_t { died, silent, wrong };
  Kind kind = Kind::wrong;
  std::string reason;

  /// As a session reports it: wrong is an error, silent an error with the deadline as its cause. A death is thrown, as
  /// a std::runtime_error, because it is what a crash of a subject in this process would be.
  [[nodiscard]] Outcome outcome() const;
};

/// A batch as one rank sees it.
struct RankBatch {
  Rank rank = 0;
  std::span<const BatchTensor> tensors;
};

class HostedProcess {
 public:
  /// Starts the program, in words; greet() reads its hello.
  static Result<std::unique_ptr<HostedProcess>> start(const std::vector<std::string>& words,
                                                      const ProcessOptions& options);
  /// Waits for the hello, up to so long after the start. The Error says why there is none.
  Status greet();

  void set_options(const ProcessOptions& options) { options_ = options; }
  [[nodiscard]] const Hello& hello() const { return hello_; }
  /// Why the process is of no use any more, or nothing. Notices, without waiting, that it has died between calls.
  [[nodiscard]] const std::optional<ProcessFailure>& failure();
  [[nodiscard]] bool was_used() const { return was_used_; }

  /// Opens a session; `rank` < 0: of all ranks. False when there was no answer: failure() says why.
  bool open(Rank rank, Rank world_ranks, const SessionOptions& options, Outcome& outcome);
  /// One reshard call. Local tensors of all the ranks given are copied into the file before and back after the call,
  /// and a byte changed next to a local tensor is changed next to it here: it is the harness that looks. With an
  /// `endpoint` the process may communicate. Throws when the process dies.
  Outcome reshard(std::span<const RankBatch> ranks, Endpoint* endpoint);
  /// Ends the session; a process that does not take it is killed. Throws when the process has died.
  Outcome close();

  ~HostedProcess() = default;
  HostedProcess(const HostedProcess&) = delete;
  HostedProcess& operator=(const HostedProcess&) = delete;

 private:
  explicit HostedProcess(const ProcessOptions& options) : options_(options) {}

  bool fail(ProcessFailure::Kind kind, std::string reason);
  bool fail(ChannelStatus status, std::int64_t waited_ms);
  bool write(const std::string& line);
  bool read(std::string& line);
  bool talk(const std::string& request, Endpoint* endpoint, Answer& answer);
  bool serve(const Answer& wish, Endpoint& endpoint);
  bool exchange(std::span<const FileMessage> messages, Endpoint& endpoint, CommStatus& status);
  bool check_messages(std::span<const FileMessage> messages);
  bool copy_in();
  bool copy_out();
  Outcome outcome_of(const Answer& answer) const;

  ProcessOptions options_;
  Guardian guardian_;  // goes last: also an end in the middle of ours leaves nothing behind
  std::unique_ptr<SharedFolder> folder_;
  std::optional<SharedFile> file_;
  ChildProcess child_;
  std::chrono::steady_clock::time_point started_;
  LineChannel channel_;
  Hello hello_;
  std::optional<ProcessFailure> failure_;
  bool was_used_ = false;
  LayoutNumbers layouts_;                           // of the session
  CommStatus first_comm_failure_ = CommStatus::ok;  // of the call
  FilePlan plan_;                                   // of the call
};

}  // namespace reshardcheck
