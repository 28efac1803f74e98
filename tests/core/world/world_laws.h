// What holds in every world, whatever carries its ranks: the tests are in world_laws.cc and run once for each world
// that a test program names with INSTANTIATE_TEST_SUITE_P.
//
// A world may span processes, each of which then runs the same tests in step. So no law lets ranks share variables,
// and what a run counts is compared with the share of the ranks that this process executes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/world/world.h"

namespace reshardcheck {

/// A world to hold to the laws.
struct WorldCandidate {
  std::string name;
  std::unique_ptr<World> (*make)() = nullptr;
  Rank ranks = 4;  // the largest world to try, at least 4
};

inline void PrintTo(const WorldCandidate& candidate, std::ostream* out) { *out << candidate.name; }

class WorldLaws : public testing::TestWithParam<WorldCandidate> {
 protected:
  /// Long enough for any machine: a law that meets it has failed.
  static constexpr std::int64_t deadline_ms = 60'000;

  WorldOutcome run(std::int64_t ranks, const RankBody& body) {
    return world_->run({.world_ranks = ranks, .seed = seed_, .topology = topology_, .deadline_ms = deadline_ms}, body,
                       traffic_);
  }
  /// The sum of what the local ranks count.
  [[nodiscard]] std::int64_t local_sum(std::vector<std::int64_t> by_rank) const {
    const LocalRanks local = world_->local_ranks(static_cast<std::int64_t>(by_rank.size()));
    const auto first = by_rank.begin() + (local.count > 0 ? local.first : 0);
    return std::accumulate(first, first + local.count, std::int64_t{0});
  }
  [[nodiscard]] bool is_local(Rank rank, std::int64_t ranks) const { return world_->local_ranks(ranks).contain(rank); }

  std::unique_ptr<World> world_ = GetParam().make();
  std::uint64_t seed_ = 0;
  Topology topology_;
  Traffic traffic_;
};

}  // namespace reshardcheck
