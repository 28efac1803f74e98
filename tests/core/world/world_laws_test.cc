// The worlds of one process, held to the laws of all worlds.
#include "tests/core/world/world_laws.h"
#include "core/world/sim.h"
#include "core/world/threads.h"

namespace reshardcheck {
namespace {

template <typename SomeWorld>
std::unique_ptr<World> make() {
  return std::make_unique<SomeWorld>();
}

INSTANTIATE_TEST_SUITE_P(Worlds, WorldLaws,
                         testing::Values(WorldCandidate{.name = "sim", .make = &make<SimWorld>, .ranks = 12},
                                         WorldCandidate{.name = "threads", .make = &make<ThreadsWorld>, .ranks = 12}),
                         [](const auto& world) { return world.param.name; });

}  // namespace
}  // namespace reshardcheck
