// Progress: do the ranks of a plan get to the end of their steps?
//
// In a step a rank posts its receives and sends and waits for all of them; each finishes once the other rank has
// come to the step in which it posts its end. The simulation carries (rank, step) pairs through a work list and
// costs time in proportion to transfers and ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace reshardcheck {

/// A rank that cannot finish a step because another has not come to the step it waits for.
struct StepWait {
  Rank rank = 0;
  int step = 0;
  Rank peer = 0;
  int peer_step = 0;
};

/// The circle of waits in which ranks are caught, or nothing when all finish. Looks at the given transfers only
/// (indices into the plan's); they must be messages with both ends, ranks below `world_ranks`, steps in range.
std::optional<std::vector<StepWait>> find_cyclic_wait(const Plan& plan, std::span<const std::uint32_t> messages,
                                                      std::int64_t world_ranks);

}  // namespace reshardcheck
