// The conclusions are pure functions of the records, so that all ranks draw the same ones.
#include "core/world/mpi/rounds.h"

#include <algorithm>
#include <type_traits>

namespace reshardcheck {
namespace {

static_assert(std::is_trivially_copyable_v<MpiRecord>);

using Records = std::span<const MpiRecord>;

bool in_collective(const MpiRecord& record) {
  return record.standing == Standing::barrier || record.standing == Standing::broadcast ||
         record.standing == Standing::allreduce;
}

/// True when something is on its way from a rank to another.
bool anything_under_way(Records ranks) {
  std::int64_t tokens = 0;
  std::int64_t payloads = 0;
  std::int64_t fewest_collectives = ranks.front().collectives;
  for (const MpiRecord& record : ranks) {
    tokens += record.tokens_sent - record.tokens_received;
    payloads += record.payloads_sent - record.payloads_received;
    fewest_collectives = std::min(fewest_collectives, record.collectives);
  }
  const bool joined_by_all = std::any_of(ranks.begin(), ranks.end(), [fewest_collectives](const MpiRecord& record) {
    return !record.returned && in_collective(record) && record.collectives <= fewest_collectives;
  });
  return tokens != 0 || payloads != 0 || joined_by_all;
}

CollectiveEntry entry_of(const MpiRecord& record) {
  switch (record.standing) {
    case Standing::broadcast:
      return {.kind = CollectiveKind::broadcast, .root = record.peer};
    case Standing::allreduce:
      return {.kind = CollectiveKind::allreduce, .reduction = record.reduction};
    default:
      return {.kind = CollectiveKind::barrier};
  }
}

}  // namespace

MpiConclusion conclude(Records records, std::size_t world_ranks) {
  const Records ranks = records.first(world_ranks);
  const auto returned = [](const MpiRecord& record) { return record.returned; };
  if (std::all_of(ranks.begin(), ranks.end(), returned)) return MpiConclusion::all_returned;
  const bool still = std::all_of(ranks.begin(), ranks.end(),
                                 [](const MpiRecord& record) { return record.unchanged && !record.moving; });
  return still && !anything_under_way(ranks) ? MpiConclusion::deadlock : MpiConclusion::go_on;
}

WorldOutcome outcome_of(Records records, std::size_t world_ranks) {
  const Records ranks = records.first(world_ranks);
  WorldOutcome outcome;
  Collective collective;
  collective.begin(static_cast<std::int64_t>(world_ranks));
  std::vector<RankWait> waits(world_ranks);
  for (std::size_t rank = 0; rank < world_ranks; ++rank) {
    const MpiRecord& record = ranks[rank];
    if (record.failed == CommStatus::ok) continue;
    outcome.status = std::max(outcome.status, record.failed);
    if (in_collective(record)) {
      collective.join(static_cast<Rank>(rank), entry_of(record));
    } else if (record.standing != Standing::returned) {
      waits[rank] = {.standing = record.standing, .peer = record.peer};
    }
  }
  if (outcome.status == CommStatus::ok) return outcome;
  collective.point_waits(waits);
  outcome.stuck = explain_stuck(waits).text;
  return outcome;
}

void MpiRounds::open(MPI_Comm parent) {
  int processes = 0;
  if (!failure_.check(RESHARDCHECK_MPI(MPI_Comm_dup(parent, &communicator_)))) return;
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN)));
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_size(communicator_, &processes)));
  records_.assign(static_cast<std::size_t>(processes), {});
}

void MpiRounds::close() {
  if (communicator_ != MPI_COMM_NULL) failure_.check(RESHARDCHECK_MPI(MPI_Comm_free(&communicator_)));
}

void MpiRounds::join(const MpiRecord& record) {
  RESHARDCHECK_CHECK(!joined());
  own_ = record;
  constexpr int bytes = sizeof(MpiRecord);
  failure_.check(RESHARDCHECK_MPI(
      MPI_Iallgather(&own_, bytes, MPI_BYTE, records_.data(), bytes, MPI_BYTE, communicator_, &request_)));
}

bool MpiRounds::over() { return joined() && mpi_test(request_, failure_); }

}  // namespace reshardcheck
