// MpiMeeting: barrier, broadcast and allreduce among the ranks of an mpi world.
//
// MPI does not say what happens when ranks join different collectives, or with different sizes. So each first tells
// the others what it is about to do; that exchange is the barrier, and it decides how the others go on. An exchange
// that some rank never joins is completed at the end of the run, when the missing ranks join it with nothing to do.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/world/collective.h"
#include "core/world/mpi/mpi_call.h"
#include "core/world/traffic.h"

namespace reshardcheck {

class MpiMeeting {
 public:
  MpiMeeting(MpiFailure& failure, std::int64_t limit_bytes) : failure_(failure), limit_bytes_(limit_bytes) {}

  /// The communicator of this run's ranks, in order; a null one on a process that is none of them.
  void begin(MPI_Comm communicator);

  /// Joins the next collective. The entry's buffers must stay until over() or until the run has ended.
  void join(const CollectiveEntry& entry);
  /// True when the data has been moved and status() says how it went, or when the ranks disagree().
  bool over(TrafficCount& traffic);
  [[nodiscard]] CommStatus status() const { return status_; }
  /// True when ranks have joined different collectives: none of them gets out.
  [[nodiscard]] bool disagree() const { return phase_ == Phase::disagreed; }
  /// True when all have joined and the data moves.
  [[nodiscard]] bool moving() const { return phase_ == Phase::moving; }
  /// How many collectives this rank has joined in this run.
  [[nodiscard]] std::int64_t joined() const { return joined_; }

  /// Completes the exchange that some ranks have joined and others have not: `most` is the largest joined() of all.
  bool settle(std::int64_t most, MpiTime until);

 private:
  enum class Phase : std::uint8_t { idle, exchanging, moving, disagreed };
  struct Intention {
    std::int32_t kind = 0;
    std::int32_t root = 0;
    std::int32_t reduction = 0;
    std::int64_t bytes = 0;
    [[nodiscard]] bool same_operation(const Intention& other) const {
      return kind == other.kind && root == other.root && reduction == other.reduction;
    }
  };

  void exchange(const Intention& intention);
  void start_moving(TrafficCount& traffic);
  void start_broadcast(TrafficCount& traffic);
  void start_allreduce();
  bool next_piece();
  void finish();

  MpiFailure& failure_;
  const std::int64_t limit_bytes_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  Rank rank_ = 0;
  Phase phase_ = Phase::idle;
  CommStatus status_ = CommStatus::ok;
  std::int64_t joined_ = 0;
  CollectiveEntry entry_;
  Intention own_;
  std::vector<Intention> all_;    // by rank
  std::span<std::byte> moved_;    // what has yet to move: of a broadcast, bytes; of an allreduce, the values' bytes
  std::vector<std::byte> whole_;  // of a broadcast to a buffer of another size
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace reshardcheck
