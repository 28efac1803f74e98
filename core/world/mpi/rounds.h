// Rounds: how the ranks of an mpi world find out together that nothing will happen any more, or that all are done.
//
// A rank joins a round when it has waited for a while, or has returned; so a round is over only when no rank is
// anywhere else. Each brings a record, and all see all records and conclude the same from them.
//
// Why a deadlock is certain: a rank whose record says `unchanged` has stood at the same wait, with the same counts,
// since it joined the round before. When all are unchanged, there was a moment (the end of the round before) at which
// all stood there at once. When moreover as many tokens and payloads have been received as were sent, nothing was on
// its way at that moment, and no collective had been joined by all: so nothing could happen after it either.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/world/collective.h"
#include "core/world/mpi/mpi_call.h"
#include "core/world/stuck.h"

namespace reshardcheck {

/// What a rank says in a round. Sent as it lies in memory: all processes run the same program.
struct MpiRecord {
  CommStatus failed = CommStatus::ok;      // why its operations fail from now on
  Standing standing = Standing::returned;  // the wait it stands at, or stood at when it failed
  Reduction reduction = Reduction::sum;    // of an allreduce
  bool returned = false;                   // its body has ended
  bool unchanged = false;                  // since it joined the round before
  bool moving = false;                     // it is in a collective that all have joined
  std::int32_t peer = -1;                  // of a send or receive; the root of a broadcast
  std::int64_t collectives = 0;            // joined so far in this run
  std::int64_t tokens_sent = 0;
  std::int64_t tokens_received = 0;
  std::int64_t payloads_sent = 0;
  std::int64_t payloads_received = 0;
  std::int64_t left_behind = 0;  // operations to clear away after the run
};

enum class MpiConclusion : std::uint8_t { go_on, deadlock, all_returned };

/// `records` by process; those from `world_ranks` on are idle and count as returned.
MpiConclusion conclude(std::span<const MpiRecord> records, std::size_t world_ranks);

/// The outcome that the records of the last round say: the gravest failure, and where the failed ranks stood.
WorldOutcome outcome_of(std::span<const MpiRecord> records, std::size_t world_ranks);

class MpiRounds {
 public:
  explicit MpiRounds(MpiFailure& failure) : failure_(failure) {}

  /// Collective.
  void open(MPI_Comm parent);
  void close();
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }

  [[nodiscard]] bool joined() const { return request_ != MPI_REQUEST_NULL; }
  /// Must not have joined one that is not over.
  void join(const MpiRecord& record);
  /// True once for each round that is over; then records() holds what all brought.
  bool over();
  [[nodiscard]] std::span<const MpiRecord> records() const { return records_; }

 private:
  MpiFailure& failure_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  MpiRecord own_;
  std::vector<MpiRecord> records_;  // by process
};

}  // namespace reshardcheck
