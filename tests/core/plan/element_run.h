// Runs a plan on arrays, element by element, with none of the room's interval code: every source element holds its
// global index, every place counts how often it was written. Slow and obvious, so that it can judge the prover.
#pragma once

#include "core/layout/layout.h"
#include "core/plan/plan.h"

namespace reshardcheck {

/// True when the plan, run step by step with reads before writes, gives every target rank exactly its shard, writes
/// each element (of the stage, too) once, touches no padding, and reads what its boxes say. Assumes that boxes make
/// sense in themselves and that every message has both its ends in one step.
bool runs_right(const Plan& plan, const Layout& source, const Layout& target);

}  // namespace reshardcheck
