// Short form for tests of the simulated world: run a body on some ranks under a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/world/sim.h"
#include "tests/core/world/number.h"

namespace reshardcheck {

/// Every law that holds "under every seed" is tried on the seeds below this one.
inline constexpr std::uint64_t tried_seeds = 200;

struct SimRun {
  std::int64_t ranks = 2;
  std::uint64_t seed = 0;
  std::vector<Fault> faults = {};
  Topology topology = {};

  Traffic traffic = {};  // after run()

  WorldOutcome run(const RankBody& body) {
    SimWorld world;
    return run(world, body);
  }
  WorldOutcome run(SimWorld& world, const RankBody& body) {
    const RunOptions options{.world_ranks = ranks, .seed = seed, .faults = faults, .topology = topology};
    return world.run(options, body, traffic);
  }
};

}  // namespace reshardcheck
