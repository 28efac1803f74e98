// Where the cases of a command run: in this process, or in workers.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "core/layout/result.h"
#include "verifier/runner.h"

namespace reshardcheck::cli {

inline constexpr std::string_view known_worlds = "sim threads mpi";

/// This program, for starting it again.
std::string own_path();

/// The program that hosts the mpi world, beside this one; empty when this installation has none.
std::string mpi_worker_path();

/// The flags that run cases in the same place again and judge them alike: world, launch, isolation, memory, and the
/// oracles of one run unless they are the usual ones. Empty for the usual place.
std::string where_flags(const RunOptions& options);

/// Runners as the flags say. Cases run in this process on the sim world when the subject is built in and nothing asks
/// for more; libraries and processes (lib:, proc:), other worlds, --launch and --isolate mean workers. The Error is the
/// user's.
Result<MakeRunner> make_runners(const RunOptions& options);

}  // namespace reshardcheck::cli
