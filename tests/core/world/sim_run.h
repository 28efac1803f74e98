// Short forms for tests of the simulated world: run a body on some ranks under a seed, and make messages of numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/world/sim.h"

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

/// A message that holds one number.
struct Number {
  std::uint32_t value = 0;

  [[nodiscard]] std::span<const std::byte> message() const { return std::as_bytes(std::span(&value, 1)); }
  [[nodiscard]] std::span<std::byte> buffer() { return std::as_writable_bytes(std::span(&value, 1)); }
};

inline constexpr std::uint32_t untouched = 0xDEADBEEF;

}  // namespace reshardcheck
