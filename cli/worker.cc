// reshardcheck worker: hosts a world and runs the cases that a driver sends. Started by other commands, not by people.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/command.h"
#include "cli/runners.h"
#include "core/layout/limits.h"
#include "core/world/sim.h"
#include "core/world/threads.h"
#include "verifier/worker/host.h"

namespace reshardcheck::cli {
namespace {

struct WorkerCommand {
  std::string world = "sim";
  std::string channel;
};

/// The mpi world lives in a program of its own, so that this one needs no MPI to start.
ExitCode become_mpi_worker(Console& console, const WorkerCommand& command) {
  const std::string program = mpi_worker_path();
  if (program.empty()) {
    return fail(console, ExitCode::environment, "this build has no mpi world: reshardcheck-worker-mpi is not beside it",
                "install Open MPI (libopenmpi-dev, openmpi-bin) and build again");
  }
  execl(program.c_str(), program.c_str(), command.channel.c_str(), static_cast<char*>(nullptr));
  return fail(console, ExitCode::environment, fmt::format("cannot start {}: {}", program, std::strerror(errno)));
}

ExitCode worker(Console& console, const WorkerCommand& command) {
  if (command.world == "mpi") return become_mpi_worker(console, command);
  std::unique_ptr<World> world;
  HostOptions options;
  options.folder = command.channel;
  if (command.world == "sim") {
    world = std::make_unique<SimWorld>();
    options.max_world_ranks = limits::max_ranks;
  } else if (command.world == "threads") {
    world = std::make_unique<ThreadsWorld>();
    options.max_world_ranks = ThreadsWorld::max_ranks;
  } else {
    return fail(console, ExitCode::usage, fmt::format("no world '{}'; known: {}", command.world, known_worlds));
  }
  const Status served = serve_driver(*world, options);
  if (!served) return fail(console, ExitCode::environment, served.error().reason);
  return ExitCode::clean;
}

}  // namespace

Action add_worker(CLI::App& app) {
  CLI::App* command = app.add_subcommand("worker", "Host a world for another command, which starts this one");
  const auto options = std::make_shared<WorkerCommand>();
  command->add_option("--world", options->world, "The world to host: sim, threads or mpi")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--channel", options->channel, "The folder of the driver's socket")->type_name("DIR")->required();
  command->footer("'reshardcheck run --help' and 'reshardcheck fuzz --help' say how to have cases run in workers.");
  return [options](Console& console) { return worker(console, *options); };
}

}  // namespace reshardcheck::cli
