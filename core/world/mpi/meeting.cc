// Data moves in pieces that an int can count; every rank cuts alike, because all know the size that moves.
#include "core/world/mpi/meeting.h"

#include <algorithm>

namespace reshardcheck {
namespace {

constexpr std::int32_t nothing_to_do = -1;  // the kind of a rank that only completes an exchange

MPI_Op operation_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::maximum:
      return MPI_MAX;
    case Reduction::minimum:
      break;
  }
  return MPI_MIN;
}

}  // namespace

void MpiMeeting::begin(MPI_Comm communicator) {
  communicator_ = communicator;
  phase_ = Phase::idle;
  joined_ = 0;
  if (communicator == MPI_COMM_NULL) return;
  int rank = 0;
  int ranks = 0;
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_rank(communicator, &rank)));
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_size(communicator, &ranks)));
  rank_ = rank;
  all_.assign(static_cast<std::size_t>(ranks), {});
}

void MpiMeeting::join(const CollectiveEntry& entry) {
  RESHARDCHECK_CHECK(phase_ == Phase::idle);
  entry_ = entry;
  status_ = CommStatus::ok;
  const bool reduces = entry.kind == CollectiveKind::allreduce;
  exchange({.kind = static_cast<std::int32_t>(entry.kind),
            .root = entry.root,
            .reduction = static_cast<std::int32_t>(entry.reduction),
            .bytes = static_cast<std::int64_t>(reduces ? entry.values.size_bytes() : entry.buffer.size())});
}

void MpiMeeting::exchange(const Intention& intention) {
  ++joined_;
  own_ = intention;
  phase_ = Phase::exchanging;
  constexpr int bytes = sizeof(Intention);
  failure_.check(
      RESHARDCHECK_MPI(MPI_Iallgather(&own_, bytes, MPI_BYTE, all_.data(), bytes, MPI_BYTE, communicator_, &request_)));
}

bool MpiMeeting::over(TrafficCount& traffic) {
  if (failure_.any() || !mpi_test(request_, failure_)) return false;
  if (phase_ == Phase::exchanging) start_moving(traffic);
  if (phase_ == Phase::moving && !next_piece()) finish();
  return phase_ == Phase::idle || phase_ == Phase::disagreed;
}

void MpiMeeting::start_moving(TrafficCount& traffic) {
  const bool agree = std::all_of(all_.begin(), all_.end(),
                                 [this](const Intention& intention) { return intention.same_operation(own_); });
  if (!agree) {
    phase_ = Phase::disagreed;
    return;
  }
  phase_ = Phase::moving;
  moved_ = {};
  if (entry_.kind == CollectiveKind::broadcast) start_broadcast(traffic);
  if (entry_.kind == CollectiveKind::allreduce) start_allreduce();
}

/// What moves is as long as the root's buffer. Ranks with a shorter one receive it elsewhere.
void MpiMeeting::start_broadcast(TrafficCount& traffic) {
  const auto root = static_cast<std::size_t>(entry_.root);
  const std::int64_t bytes = all_[root].bytes;
  for (std::size_t rank = 0; rank < all_.size(); ++rank) {
    if (all_[rank].bytes != bytes && (rank == static_cast<std::size_t>(rank_) || entry_.root == rank_)) {
      status_ = CommStatus::size_mismatch;
    }
    if (entry_.root != rank_) continue;
    traffic.count_bytes({.from = rank_, .to = static_cast<Rank>(rank)},
                        static_cast<std::size_t>(std::min(bytes, all_[rank].bytes)));
  }
  if (own_.bytes >= bytes) {
    moved_ = entry_.buffer.first(static_cast<std::size_t>(bytes));
  } else {
    whole_.resize(static_cast<std::size_t>(bytes));
    moved_ = whole_;
  }
}

/// Ranks that bring different numbers of values all see size_mismatch, and no value changes.
void MpiMeeting::start_allreduce() {
  const bool same_sizes = std::all_of(all_.begin(), all_.end(),
                                      [this](const Intention& intention) { return intention.bytes == own_.bytes; });
  if (same_sizes) {
    moved_ = std::as_writable_bytes(entry_.values);
  } else {
    status_ = CommStatus::size_mismatch;
  }
}

/// False when nothing is left to move.
bool MpiMeeting::next_piece() {
  if (moved_.empty()) return false;
  constexpr std::size_t value_bytes = sizeof(std::uint64_t);
  const std::size_t piece_bytes = static_cast<std::size_t>(limit_bytes_) / value_bytes * value_bytes;
  const std::span<std::byte> piece = moved_.first(std::min(piece_bytes, moved_.size()));
  moved_ = moved_.subspan(piece.size());
  const int bytes = static_cast<int>(piece.size());
  if (entry_.kind == CollectiveKind::broadcast) {
    failure_.check(RESHARDCHECK_MPI(MPI_Ibcast(piece.data(), bytes, MPI_BYTE, entry_.root, communicator_, &request_)));
  } else {
    failure_.check(
        RESHARDCHECK_MPI(MPI_Iallreduce(MPI_IN_PLACE, piece.data(), bytes / static_cast<int>(value_bytes), MPI_UINT64_T,
                                        operation_of(entry_.reduction), communicator_, &request_)));
  }
  return true;
}

void MpiMeeting::finish() {
  phase_ = Phase::idle;
  if (whole_.empty()) return;
  std::copy_n(whole_.begin(), entry_.buffer.size(), entry_.buffer.begin());
  std::vector<std::byte>().swap(whole_);
}

bool MpiMeeting::settle(std::int64_t most, MpiTime until) {
  if (communicator_ == MPI_COMM_NULL) return true;
  if (moving()) return false;  // the time was up in the middle of the data
  if (joined_ < most) exchange({.kind = nothing_to_do});
  if (!mpi_complete(request_, until, failure_)) return false;
  phase_ = Phase::idle;
  whole_.clear();
  return true;
}

}  // namespace reshardcheck
