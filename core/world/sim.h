// SimWorld: every rank is a fiber in one thread over a virtual network.
//
// Deterministic from a seed: which rank runs next, which matched message is delivered next, and every injected
// fault. A deadlock is seen at once, when no fiber can run and nothing can be delivered, and is reported as the
// circle of ranks that wait for each other. One SimWorld is reused for many runs (its stacks and tables stay), and
// a run of a few ranks costs microseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/layout/case.h"
#include "core/plan/topology.h"
#include "core/world/world.h"

namespace reshardcheck {

struct SimOptions {
  std::int64_t world_ranks = 1;
  std::uint64_t seed = 0;           // delivery order
  std::span<const Fault> faults;    // injected into this run; must outlive it
  Topology topology;                // only to count traffic by link class
};

class SimWorld {
 public:
  SimWorld();
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  /// Runs `body` once per rank to its end. Bodies must return when an operation fails. `traffic` receives what the
  /// run's messages carried. Not reentrant: a body must not call run().
  WorldOutcome run(const SimOptions& options, const RankBody& body, Traffic& traffic);

  /// Bytes of stack a rank costs, for the memory estimate of a case.
  static std::int64_t stack_bytes_per_rank();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
