// MpiWorld: a rank per process, over Open MPI, on one host or many.
//
// Same contract as every world, and the same answers: rendezvous, both ends told when sizes differ, ranks that join
// different collectives stuck, and a deadlock seen when it is there and not only at the deadline. How:
//   - A receive sends its peer a token that says how much it takes; a send hands its bytes to MPI when it has a token.
//     So nothing is buffered on the way, nothing is ever cut off by MPI, and a send that nobody receives leaves
//     nothing behind.
//   - A collective begins with an exchange of what each rank wants to do, so that all know when they disagree.
//   - Ranks that have waited for a while, and ranks that have returned, meet in rounds (see mpi/rounds.h). A round in
//     which nothing moves anywhere is a deadlock; a round in which all have returned ends the run. What bodies left
//     behind is then cleared away, so that the next run starts clean.
//
// Every process of MPI_COMM_WORLD makes one and calls run() in step with the same options; a run of fewer ranks than
// processes leaves the last ones idle. All calls of MPI are made by the thread that calls. MPI is initialised and
// finalised by the owner of the process, who destroys the world in between. Waits are polled and yield the processor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/world/world.h"

namespace reshardcheck {

struct MpiWorldOptions {
  std::int64_t count_bytes = 2'147'483'647;  // longer messages travel as derived types, MPI counts being ints
  std::int64_t patience_ms = 20;             // a rank that has waited this long asks the others how they are
  std::int64_t grace_ms = 5'000;          // beyond the deadline, for the ranks to come back before the world is spent
  std::int64_t longest_run_ms = 600'000;  // the deadline of a run that has none
};

class MpiWorld final : public World {
 public:
  /// Collective over MPI_COMM_WORLD. When that fails the world is spent.
  explicit MpiWorld(MpiWorldOptions options = {});
  ~MpiWorld() override;

  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] std::optional<std::string> unsupported(const RunOptions& options) const override;
  [[nodiscard]] LocalRanks local_ranks(std::int64_t world_ranks) const override;
  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic) override;
  bool renew() override;
  [[nodiscard]] bool spent() const override;

  [[nodiscard]] Rank process() const override;
  [[nodiscard]] Rank processes() const override;
  /// Beyond a short while it waits asleep, so that idle processes leave the cores to others. Texts of all processes
  /// together may have 2^31 - 1 bytes.
  std::vector<std::string> exchange(std::string_view text, std::int64_t deadline_ms) override;
  /// Why the world is spent: the MPI call that failed, with code and place, or who did not come back.
  [[nodiscard]] const std::string& failure() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
