// The mpi world, held to the laws of all worlds.
#include <mpi.h>

#include "core/world/mpi.h"
#include "tests/core/world/world_laws.h"

namespace reshardcheck {
namespace {

std::vector<WorldCandidate> candidates() {
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const auto make = +[]() -> std::unique_ptr<World> { return std::make_unique<MpiWorld>(); };
  // Every message takes the way of those that are too long for an int.
  const auto make_with_small_counts =
      +[]() -> std::unique_ptr<World> { return std::make_unique<MpiWorld>(MpiWorldOptions{.count_bytes = 15}); };
  return {{.name = "mpi", .make = make, .ranks = processes},
          {.name = "mpi_small_counts", .make = make_with_small_counts, .ranks = processes}};
}

INSTANTIATE_TEST_SUITE_P(Worlds, WorldLaws, testing::ValuesIn(candidates()),
                         [](const auto& world) { return world.param.name; });

}  // namespace
}  // namespace reshardcheck
