// The worker's side: a process, or one of many that share a world, which runs cases for a driver until that says quit
// or goes away. It never chooses a case and never judges alone.
#pragma once

#include <string>

#include "core/layout/result.h"
#include "core/world/world.h"

namespace reshardcheck {

struct HostOptions {
  std::string folder;  // the driver's, with the socket and the secret; process 0 alone looks there
  std::int64_t max_world_ranks = 0;
  /// Dies with the process that started it, whatever that does. Off in tests that host a worker themselves.
  bool die_with_parent = true;
};

/// Serves to the end. Every process of the world calls. The Error is the environment's: no socket, no driver.
Status serve_driver(World& world, const HostOptions& options);

}  // namespace reshardcheck
