// SimWorld: every rank is a fiber in one thread over a virtual network.
//
// Deterministic from a seed: which rank runs next, which matched message is delivered next, and every injected
// fault. A deadlock is seen at once, when no fiber can run and nothing can be delivered, and is reported as the
// circle of ranks that wait for each other. One SimWorld is reused for many runs (its stacks and tables stay), and
// a run of a few ranks costs microseconds.
//
// How a run goes:
//   - A rank runs until it waits. Then chance decides between running another rank and delivering a message whose
//     send and receive are both posted; how eager the network is differs from seed to seed.
//   - The payload is copied at delivery, so the buffers of both sides matter until wait() has returned.
//   - Operations that a body leaves behind when it returns are cancelled: no buffer is touched after its owner is
//     gone, and sends that were not delivered by then count as unreceived.
//   - When nothing goes on, every open wait ends with deadlock (or peer_lost, where the chain of waits leads to a
//     killed rank), and from then on every operation of the run fails with that status.
//   - Self-sends are messages like all others, but their bytes cross no link.
//
// Faults on messages count sends in the order in which they are posted in this run, from 0; collectives do not count.
//   drop: the sender is told all is well, the receiver gets nothing.       duplicate: the message comes twice.
//   reorder: it changes places with the next message of its pair, if one is posted before everything stands still.
//   corrupt: one bit flips.        truncate: the last byte does not arrive, and the receiver sees size_mismatch.
// kill: from its call-th operation on, the rank gets `killed` from every operation, and what it had posted is
// cancelled. stall: the rank stops in its call-th operation until nothing else can go on, which is then a deadlock.
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
  std::uint64_t seed = 0;         // delivery order, and which bit is corrupted
  std::span<const Fault> faults;  // injected into this run; must outlive it
  Topology topology;              // only to count traffic by link class
};

class SimWorld {
 public:
  SimWorld();
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  /// Runs `body` once per rank to its end. Bodies must return when an operation fails. `traffic` is set to what the
  /// run's messages carried (a broadcast's bytes count too, from the root to each other rank, but not as messages).
  /// The outcome is peer_lost whenever a rank was killed, unless ranks deadlocked for another reason. Bodies should
  /// not throw: when one does, its rank ends there, the run goes on, and the first such exception comes out of run().
  /// Not reentrant: a body must not call run().
  WorldOutcome run(const SimOptions& options, const RankBody& body, Traffic& traffic);

  /// Bytes of stack a rank costs, for the memory estimate of a case.
  static std::int64_t stack_bytes_per_rank();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
