// The data movement of collectives, done by the last rank that joins.
#include "core/world/collective.h"

#include <algorithm>
#include <cstring>

#include "core/layout/result.h"

namespace reshardcheck {
namespace {

Standing standing(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::barrier:
      return Standing::barrier;
    case CollectiveKind::broadcast:
      return Standing::broadcast;
    case CollectiveKind::allreduce:
      break;
  }
  return Standing::allreduce;
}

}  // namespace

void Collective::begin(std::int64_t world_ranks) {
  entries_.assign(static_cast<std::size_t>(world_ranks), {});
  joined_.assign(static_cast<std::size_t>(world_ranks), 0);
  count_ = 0;
  agree_ = true;
}

void Collective::join(Rank rank, const CollectiveEntry& entry) {
  RESHARDCHECK_CHECK(!joined(rank));
  if (count_ == 0) first_ = rank;
  joined_[static_cast<std::size_t>(rank)] = 1;
  entries_[static_cast<std::size_t>(rank)] = entry;
  ++count_;
  agree_ = agree_ && entry.agrees_with(entries_[static_cast<std::size_t>(first_)]);
}

void Collective::complete(TrafficCount& traffic) {
  RESHARDCHECK_CHECK(can_complete());
  switch (entries_.front().kind) {
    case CollectiveKind::barrier:
      break;
    case CollectiveKind::broadcast:
      broadcast(traffic);
      break;
    case CollectiveKind::allreduce:
      allreduce();
      break;
  }
  std::fill(joined_.begin(), joined_.end(), char{0});
  count_ = 0;
}

void Collective::broadcast(TrafficCount& traffic) {
  const Rank root = entries_.front().root;
  CollectiveEntry& source = entries_[static_cast<std::size_t>(root)];
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    const auto rank = static_cast<Rank>(index);
    if (rank == root) continue;
    CollectiveEntry& target = entries_[index];
    const std::size_t bytes = std::min(source.buffer.size(), target.buffer.size());
    if (bytes > 0) std::memmove(target.buffer.data(), source.buffer.data(), bytes);
    traffic.count_bytes({.from = root, .to = rank}, bytes);
    if (source.buffer.size() == target.buffer.size()) continue;
    source.status = CommStatus::size_mismatch;
    target.status = CommStatus::size_mismatch;
  }
}

/// Ranks that bring different numbers of values all see size_mismatch, and no value changes.
void Collective::allreduce() {
  const std::span<std::uint64_t> first = entries_.front().values;
  const bool same_sizes = std::all_of(entries_.begin(), entries_.end(), [&first](const CollectiveEntry& entry) {
    return entry.values.size() == first.size();
  });
  if (!same_sizes) {
    for (CollectiveEntry& entry : entries_) entry.status = CommStatus::size_mismatch;
    return;
  }
  reduced_.assign(first.begin(), first.end());
  for (std::size_t rank = 1; rank < entries_.size(); ++rank) {
    for (std::size_t index = 0; index < reduced_.size(); ++index) {
      const std::uint64_t value = entries_[rank].values[index];
      switch (entries_[rank].reduction) {
        case Reduction::sum:
          reduced_[index] += value;
          break;
        case Reduction::maximum:
          reduced_[index] = std::max(reduced_[index], value);
          break;
        case Reduction::minimum:
          reduced_[index] = std::min(reduced_[index], value);
          break;
      }
    }
  }
  for (CollectiveEntry& entry : entries_) std::copy(reduced_.begin(), reduced_.end(), entry.values.begin());
}

void Collective::point_waits(std::span<RankWait> waits) const {
  Rank missing = -1;
  Rank other = -1;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    const auto rank = static_cast<Rank>(index);
    const auto was_killed = [&waits](Rank who) {
      return waits[static_cast<std::size_t>(who)].standing == Standing::killed;
    };
    if (!joined(rank)) {
      if (missing < 0 || (was_killed(rank) && !was_killed(missing))) missing = rank;
    } else if (other < 0 && !entry(rank).agrees_with(entry(0))) {
      other = rank;
    }
  }
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    const auto rank = static_cast<Rank>(index);
    if (!joined(rank)) continue;
    waits[index].standing = standing(entry(rank).kind);
    waits[index].peer = missing >= 0 ? missing : (entry(rank).agrees_with(entry(0)) ? other : 0);
  }
}

}  // namespace reshardcheck
