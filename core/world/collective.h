// Collective: one barrier, broadcast or allreduce among ranks of one process, from the first that joins to the last.
//
// Collectives are not made of messages: the last rank to join completes them, while all ranks stand still. They are
// as strict as a collective can be: no rank leaves before all have joined. Ranks that join different operations
// (another kind, root or reduction) never get out, as on a real machine, and are reported as stuck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/world/stuck.h"
#include "core/world/traffic.h"
#include "core/world/world.h"

namespace reshardcheck {

enum class CollectiveKind : std::uint8_t { barrier, broadcast, allreduce };

/// What one rank joins with.
struct CollectiveEntry {
  CollectiveKind kind = CollectiveKind::barrier;
  Rank root = 0;                         // of a broadcast
  Reduction reduction = Reduction::sum;  // of an allreduce
  std::span<std::byte> buffer = {};      // of a broadcast
  std::span<std::uint64_t> values = {};  // of an allreduce
  CommStatus status = CommStatus::ok;    // how it ended, after complete()

  /// True when the two can be the same operation.
  [[nodiscard]] bool agrees_with(const CollectiveEntry& other) const {
    return kind == other.kind && root == other.root && reduction == other.reduction;
  }
};

class Collective {
 public:
  void begin(std::int64_t world_ranks);

  void join(Rank rank, const CollectiveEntry& entry);
  [[nodiscard]] bool joined(Rank rank) const { return joined_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const CollectiveEntry& entry(Rank rank) const { return entries_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool can_complete() const { return agree_ && count_ == static_cast<std::int64_t>(entries_.size()); }

  /// Moves the data and sets every entry's status; all ranks have left afterwards. The bytes of a broadcast count
  /// as traffic from the root to each other rank, but not as messages; those of an allreduce do not count.
  void complete(TrafficCount& traffic);

  /// Says for whom each joined rank waits: the first that has not joined, a killed one before others; when all have
  /// joined they disagree, and each waits for the first that joined something else. `waits` by rank, with the
  /// standing of those that have not joined already filled in.
  void point_waits(std::span<RankWait> waits) const;

 private:
  void broadcast(TrafficCount& traffic);
  void allreduce();

  std::vector<CollectiveEntry> entries_;  // by rank
  std::vector<char> joined_;              // by rank
  std::vector<std::uint64_t> reduced_;
  Rank first_ = 0;  // the first that joined
  std::int64_t count_ = 0;
  bool agree_ = true;
};

}  // namespace reshardcheck
