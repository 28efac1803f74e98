// reshardcheck bench NAME: how fast parts of this binary are and what they find, next to what they are measured
// against.
//
// Each benchmark is a file of its own and a subcommand of `bench`.
#include "cli/bench.h"

#include <ctime>
#include <memory>
#include <utility>
#include <vector>

namespace reshardcheck::cli {

double thread_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Action add_bench(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Measure how fast parts of this binary are, and what they find");
  bench->require_subcommand(1);
  bench->footer(
      "Examples:\n"
      "  reshardcheck bench fingerprint --json\n"
      "  reshardcheck bench power --jobs 2");
  using Entry = std::pair<const CLI::App*, Action>;
  const auto entries = std::make_shared<std::vector<Entry>>();
  for (Action (*add)(CLI::App&) : {add_bench_fingerprint, add_bench_power}) {
    Action action = add(*bench);
    entries->emplace_back(bench->get_subcommands([](CLI::App*) { return true; }).back(), std::move(action));
  }
  return [entries](Console& console) {
    for (const auto& [command, action] : *entries) {
      if (command->parsed()) return action(console);
    }
    return ExitCode::usage;
  };
}

}  // namespace reshardcheck::cli
