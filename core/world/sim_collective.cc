// The data movement of collectives, done by the last rank that joins.
#include "core/world/sim_collective.h"

#include <algorithm>
#include <cstring>

#include "core/layout/result.h"

namespace reshardcheck {

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

void Collective::complete(Network& network) {
  RESHARDCHECK_CHECK(can_complete());
  switch (entries_.front().kind) {
    case CollectiveKind::barrier:
      break;
    case CollectiveKind::broadcast:
      broadcast(network);
      break;
    case CollectiveKind::allreduce:
      allreduce();
      break;
  }
  std::fill(joined_.begin(), joined_.end(), char{0});
  count_ = 0;
}

void Collective::broadcast(Network& network) {
  const Rank root = entries_.front().root;
  CollectiveEntry& source = entries_[static_cast<std::size_t>(root)];
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    const auto rank = static_cast<Rank>(index);
    if (rank == root) continue;
    CollectiveEntry& target = entries_[index];
    const std::size_t bytes = std::min(source.buffer.size(), target.buffer.size());
    if (bytes > 0) std::memmove(target.buffer.data(), source.buffer.data(), bytes);
    network.count_bytes({.from = root, .to = rank}, bytes);
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

}  // namespace reshardcheck
