// Deviation: how a mutant differs from the reference.
//
// A mutant is the reference subject plus the few hooks that make it wrong in one way, and right whenever the
// precondition of its bug is absent. Hooks follow the order of a call: what it refuses, which tensors and strides it
// sees, what it plans, what it caches, how it moves, what it does to its buffers afterwards. Ranks of a mutant agree on
// the plan unless the bug is that they do not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/planner.h"
#include "core/plan/topology.h"
#include "core/subject/engine.h"
#include "core/subject/plan_cache.h"
#include "core/subject/subject.h"

namespace reshardcheck {

/// What a plan is made from.
struct PlanContext {
  const TensorCase& tensor;
  Topology topology;
  PlannerKind planner = PlannerKind::replica_aware;  // that the reference would use for the tensor's path
};

/// What a mutant remembers on one rank, from open to close.
struct RankMemory {
  std::int64_t call = 0;                        // calls that came before this one
  std::vector<std::vector<std::byte>> kept;     // by tensor of the case: what targets held after an earlier call
  std::vector<std::vector<std::byte>> scratch;  // by tensor of the call
};

/// What it remembers in one process, across ranks and cases.
struct ProcessMemory {
  std::atomic<std::uint64_t> calls{0};
};

/// One reshard call on one rank.
struct CallContext {
  Endpoint& endpoint;
  std::span<const BatchTensor> tensors;
  std::size_t first_tensor = 0;
  RankMemory& rank;
  ProcessMemory& process;
};

struct Deviation {
  PlannerKind planner = PlannerKind::replica_aware;
  bool promises_minimal_traffic = true;
  CacheKey cache_key;

  /// An outcome that ends the call before anything moves; nothing to go on.
  std::function<std::optional<Outcome>(const CallContext&)> before;

  /// Changes the tensors of the call as the rank sees them.
  std::function<void(std::vector<BatchTensor>&, RankMemory&)> see;

  /// Makes the plan itself; nothing where it would make the reference's.
  std::function<std::optional<Plan>(const PlanContext&)> plan;

  /// Changes the plan that was made.
  std::function<void(Plan&, const PlanContext&)> bend;

  EngineDeviation engine;

  /// Comes after a call that was done.
  std::function<void(const CallContext&)> after;
};

}  // namespace reshardcheck
