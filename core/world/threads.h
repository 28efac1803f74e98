// ThreadsWorld: a thread per rank in one process.
//
// For subjects that use their own synchronisation, or state shared by the ranks of a process. Same contract as every
// world: pair order, rendezvous, collectives in order. Messages match under one lock and are copied outside of it, by
// whichever end waits first. When every rank that has not returned stands in a wait of this world, nothing can come
// any more: the run ends as a deadlock at once. A rank that is stuck elsewhere (in the subject's own code) keeps the
// others waiting until the deadline; should it never return, run() does not either, and the process that hosts the
// world has to go.
//
// Threads are kept from run to run. Faults belong to the sim world and are refused here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/world/world.h"

namespace reshardcheck {

class ThreadsWorld final : public World {
 public:
  static constexpr std::int64_t max_ranks = 1'024;

  ThreadsWorld();
  ~ThreadsWorld() override;

  [[nodiscard]] std::string_view name() const override { return "threads"; }
  [[nodiscard]] std::optional<std::string> unsupported(const RunOptions& options) const override;
  /// Throws std::system_error, before any body runs, when the system gives no more threads.
  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic) override;
  bool renew() override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
