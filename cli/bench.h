// What the benchmarks of `reshardcheck bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "cli/command.h"

namespace reshardcheck::cli {

/// CPU seconds that the calling thread has used. Speed is measured in these: a neighbour that takes turns on the core
/// does not change them (one that takes memory bandwidth does).
double thread_seconds();

/// Adds `bench fingerprint` to the `bench` subcommand and returns its action.
Action add_bench_fingerprint(CLI::App& bench);
/// Adds `bench power`, likewise.
Action add_bench_power(CLI::App& bench);

}  // namespace reshardcheck::cli
