// ThreadsWorld: a thread per rank in one process.
//
// For subjects that use their own synchronisation, or state shared by the ranks of a process. Same contract as every
// world: pair order, rendezvous, collectives in order. Messages match under one lock and are copied outside of it.
// When every rank that has not returned stands in a wait of this world, nothing can come any more: the run ends as a
// deadlock at once. A rank that is stuck elsewhere (in the subject's own code) keeps the others waiting until the
// deadline; should it never return, run() does not either, and the process that hosts the world has to go.
//
// Threads are kept from run to run. Faults of messages belong to the sim world and are refused here.
#pragma once

#include <memory>

#include "core/world/world.h"

namespace reshardcheck {

class ThreadsWorld final : public World {
 public:
  ThreadsWorld();
  ~ThreadsWorld() override;

  [[nodiscard]] std::string_view name() const override { return "threads"; }
  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic) override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
