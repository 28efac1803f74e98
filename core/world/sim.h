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
#include <optional>
#include <string>
#include <string_view>

#include "core/world/world.h"

namespace reshardcheck {

class SimWorld final : public World {
 public:
  SimWorld();
  ~SimWorld() override;

  [[nodiscard]] std::string_view name() const override { return "sim"; }
  [[nodiscard]] std::optional<std::string> unsupported(const RunOptions& options) const override;
  /// The outcome is peer_lost whenever a rank was killed, unless ranks deadlocked for another reason.
  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic) override;
  bool renew() override;

  /// Bytes of stack a rank costs, for the memory estimate of a case.
  static std::int64_t stack_bytes_per_rank();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
