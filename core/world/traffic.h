// TrafficCount: what the messages of a run carried, by link class.
//
// Every world counts through it, so that the same messages give the same numbers wherever they travel. A message of a
// rank to itself counts as a message, but its bytes cross no link.
#pragma once

#include <cstddef>

#include "core/plan/topology.h"
#include "core/world/world.h"

namespace reshardcheck {

/// The ordered pair of ranks a message travels between.
struct RankPair {
  Rank from = 0;
  Rank to = 0;
  friend bool operator==(const RankPair&, const RankPair&) = default;
};

class TrafficCount {
 public:
  /// Forgets the previous run.
  void begin(const Topology& topology) {
    topology_ = topology;
    total_ = {};
  }

  void count_message(RankPair ranks, std::size_t bytes) {
    ++total_.messages;
    count_bytes(ranks, bytes);
  }
  /// Bytes that were no message: those of a collective.
  void count_bytes(RankPair ranks, std::size_t bytes) {
    if (ranks.from == ranks.to) return;
    (topology_.same_domain(ranks.from, ranks.to) ? total_.within_domains_bytes : total_.across_domains_bytes) += bytes;
  }

  [[nodiscard]] const Traffic& total() const { return total_; }

 private:
  Topology topology_;
  Traffic total_;
};

}  // namespace reshardcheck
