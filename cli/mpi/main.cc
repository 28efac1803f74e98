// reshardcheck-worker-mpi: `reshardcheck worker --world mpi` becomes this program, one process per rank.
//
// Apart from the main program so that only workers depend on MPI.
#include <mpi.h>

#include <cstdio>

#include "core/world/mpi.h"
#include "verifier/worker/host.h"

namespace {

/// Shorter than half of the driver's bound on a case, so that the world's own report of who waits for whom arrives.
constexpr std::int64_t grace_ms = 2'000;
constexpr int environment = 3;

int serve(const char* folder) {
  reshardcheck::MpiWorldOptions world_options;
  world_options.grace_ms = grace_ms;
  reshardcheck::MpiWorld world(world_options);
  reshardcheck::HostOptions options;
  options.folder = folder;
  options.max_world_ranks = world.processes();
  const reshardcheck::Status served = reshardcheck::serve_driver(world, options);
  if (!served) std::fprintf(stderr, "reshardcheck worker: %s\n", served.error().reason.c_str());
  // The other processes of a spent world may never come back: they go with this one.
  if (world.spent()) MPI_Abort(MPI_COMM_WORLD, environment);
  return served.ok() ? 0 : environment;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fprintf(stderr, "usage: reshardcheck worker --world mpi --channel DIR\n");
    return 2;
  }
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) {
    std::fprintf(stderr, "reshardcheck worker: MPI does not start\n");
    return environment;
  }
  const int code = serve(arguments[1]);
  MPI_Finalize();
  return code;
}
