// Command: one subcommand of the binary, and what all of them share.
//
// A subcommand is one file. It declares its options on a CLI::App and returns the action that runs once the command
// line has been parsed. Actions translate arguments into calls of the rooms below and results into text; they hold
// no logic of their own. main.cc owns the table of subcommands: a new one is a file and a line there.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace reshardcheck::cli {

/// Runs a parsed subcommand.
using Action = std::function<ExitCode(Console&)>;

/// What each subcommand file defines: adds the subcommand to `app` and returns its action.
Action add_run(CLI::App& app);
Action add_fuzz(CLI::App& app);
Action add_enumerate(CLI::App& app);
Action add_shrink(CLI::App& app);
Action add_prove(CLI::App& app);
Action add_explain(CLI::App& app);
Action add_subjects(CLI::App& app);
Action add_doctor(CLI::App& app);
Action add_fingerprint(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_worker(CLI::App& app);

/// Prints "reshardcheck: message" and a hint to the error stream and returns the code. A message may have several
/// lines; the hint is one more.
ExitCode fail(Console& console, ExitCode code, std::string_view message, std::string_view hint = "");

}  // namespace reshardcheck::cli
