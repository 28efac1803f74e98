// reshardcheck enumerate: a subject against every case of a bound.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/runners.h"
#include "cli/verdict_report.h"
#include "core/layout/json.h"
#include "core/layout/notation.h"
#include "fuzz/exhaustive.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

struct EnumerateCommand {
  RunOptions run;
  std::int64_t max_ranks = 8;
  std::int64_t max_dims = 2;
  std::int64_t max_extent = 5;
  std::int64_t min_extent = 1;
  std::int64_t max_axes = 2;
  std::string rules = "chunk";  // as typed
  std::string shard;            // as typed
  std::int64_t jobs = 1;
  bool rank_orders = false;
  bool overlap = false;
  bool count = false;
  bool json = false;
  bool quiet = false;
};

Result<std::vector<SplitRule>> parse_rules(const std::string& text) {
  if (text == "all") return std::vector<SplitRule>{std::begin(all_rules), std::end(all_rules)};
  std::vector<SplitRule> rules;
  for (const std::string& word : split_words(text, ',')) {
    const auto found = std::find_if(std::begin(all_rules), std::end(all_rules),
                                    [&word](SplitRule rule) { return name(rule) == word; });
    if (found == std::end(all_rules)) {
      return Error{fmt::format(
          "--rules: unknown rule '{}'; known: chunk balanced even padded cuts segments strided, or all", word)};
    }
    if (std::find(rules.begin(), rules.end(), *found) == rules.end()) rules.push_back(*found);
  }
  return rules;
}

/// "3/8", the third of eight.
Result<EnumerationShard> parse_shard(const std::string& text) {
  if (text.empty()) return EnumerationShard{};
  const std::vector<std::string> words = split_words(text, '/');
  constexpr std::uint64_t most = 1'000'000;
  const std::uint64_t index = words.size() == 2 ? parse_unsigned(words[0]).value_or(0) : 0;
  const std::uint64_t count = words.size() == 2 ? parse_unsigned(words[1]).value_or(0) : 0;
  if (index < 1 || index > count || count > most) {
    return Error{fmt::format("--shard: '{}' is not a part such as 3/8, counted from 1", text)};
  }
  return EnumerationShard{static_cast<std::int64_t>(index) - 1, static_cast<std::int64_t>(count)};
}

Result<ExhaustiveOptions> exhaustive_options(const EnumerateCommand& command) {
  ExhaustiveOptions options;
  const Result<ExecutorOptions> executor = executor_options(command.run);
  if (!executor) return executor.error();
  const Result<std::vector<SplitRule>> rules = parse_rules(command.rules);
  if (!rules) return rules.error();
  const Result<EnumerationShard> shard = parse_shard(command.shard);
  if (!shard) return shard.error();
  if (command.min_extent > command.max_extent) return Error{"--min-extent is larger than --max-extent"};
  options.subject = command.run.subject;
  options.executor = *executor;
  const Result<MakeRunner> make_runner = make_runners(command.run);
  if (!make_runner) return make_runner.error();
  options.make_runner = *make_runner;
  options.shard = *shard;
  options.jobs = static_cast<int>(command.jobs);
  options.bound =
      GeneratorOptions::small_scope(command.max_ranks, static_cast<int>(command.max_dims), command.max_extent);
  options.bound.min_extent = command.min_extent;
  options.bound.max_axes = static_cast<int>(command.max_axes);
  options.bound.rules = *rules;
  options.bound.rank_order = command.rank_orders ? 100 : 0;  // every order, the natural one among them
  options.bound.overlap = command.overlap ? 50 : 0;
  return options;
}

/// How many of the bound's cases a shard has.
std::int64_t shard_cases(std::int64_t bound_cases, const EnumerationShard& shard) {
  return (bound_cases - shard.index + shard.count - 1) / shard.count;
}

void print_failure(Console& console, const EnumerateCommand& command, const ExhaustiveFailure& failure,
                   std::string_view event) {
  const Sequence alone{{failure.value}};
  const CaseReport report{&alone, "", command.run.subject,     command.run.world, failure.verdict,
                          0,      0,  where_flags(command.run)};
  if (command.json) {
    ordered_json line = report_json(report);
    line.erase("elapsed_us");
    line["event"] = event;
    line["index"] = failure.index;
    console.out.line(json_line(line));
    return;
  }
  console.out.line(
      fmt::format("{}: case {}: {}: {}", event, failure.index, name(failure.verdict.kind), to_text(failure.value)));
  if (event == "simplest") console.out.line(failure_lines(report, "  "));
}

/// A bound that was not visited in full proves nothing: neither interrupted nor with cases that did not fit.
bool in_full(const ExhaustiveResult& result) { return result.complete && result.skipped == 0; }

void print_end(Console& console, const EnumerateCommand& command, const ExhaustiveResult& result, std::int64_t cases) {
  if (command.json) {
    ordered_json line{{"event", "end"},
                      {"cases", cases},
                      {"visited", result.visited},
                      {"skipped", result.skipped},
                      {"failed", result.failed},
                      {"complete", in_full(result)}};
    for (int kind = 0; kind < verdict_kinds; ++kind) {
      const std::int64_t count = result.verdicts[static_cast<std::size_t>(kind)];
      if (count > 0) line["verdicts"][std::string(name(static_cast<VerdictKind>(kind)))] = count;
    }
    console.out.line(json_line(line));
    return;
  }
  std::string kinds;
  for (int kind = 0; kind < verdict_kinds; ++kind) {
    const std::int64_t count = result.verdicts[static_cast<std::size_t>(kind)];
    if (count > 0) kinds += fmt::format(", {} {}", count, name(static_cast<VerdictKind>(kind)));
  }
  if (result.skipped > 0) kinds += fmt::format(", {} skipped for memory", result.skipped);
  console.out.line(fmt::format("{}: {} of {} cases visited{}",
                               result.failed > 0 ? "findings"
                               : in_full(result) ? "clean"
                               : result.complete ? "incomplete"
                                                 : "stopped early",
                               result.visited, cases, kinds));
}

ExitCode enumerate(Console& console, const EnumerateCommand& command) {
  Result<ExhaustiveOptions> options = exhaustive_options(command);
  if (!options)
    return fail(console, ExitCode::usage, options.error().reason, "'reshardcheck enumerate --help' has examples");
  const InterruptGuard guard;
  options->cancelled = [&console] { return InterruptGuard::interrupted() || console.out.closed(); };
  const std::int64_t bound_cases = count_cases(options->bound, options->cancelled);
  if (options->cancelled()) {
    return fail(console, ExitCode::environment,
                fmt::format("interrupted while counting: the bound holds more than {} cases", bound_cases),
                "a smaller bound is a better start: fewer ranks, --max-axes 1, --max-dims 1, fewer rules");
  }
  const std::int64_t cases = shard_cases(bound_cases, options->shard);
  if (command.json) {
    console.out.line(json_line(ordered_json{{"event", "start"},
                                            {"bound", bound_cases},
                                            {"cases", cases},
                                            {"subject", command.run.subject},
                                            {"world", command.run.world}}));
  } else {
    console.out.line(fmt::format("enumerate: the bound holds {} cases{}, subject {}, world {}", bound_cases,
                                 options->shard.count > 1 ? fmt::format(", shard {} has {}", command.shard, cases) : "",
                                 command.run.subject, command.run.world));
  }
  if (command.count) return ExitCode::clean;

  ProgressDisplay progress(console.err);
  options->on_progress = [&](std::int64_t visited) {
    if (command.quiet) return;
    progress.show(static_cast<double>(visited) / static_cast<double>(std::max<std::int64_t>(cases, 1)), visited,
                  "of the bound");
  };
  const Result<ExhaustiveResult> result = run_exhaustive(*options);
  progress.clear();
  if (!result)
    return fail(console, ExitCode::usage, result.error().reason, "'reshardcheck subjects' lists what can be judged");
  if (!command.quiet) {
    for (const ExhaustiveFailure& failure : result->first) print_failure(console, command, failure, "fails");
  }
  if (result->simplest) print_failure(console, command, *result->simplest, "simplest");
  print_end(console, command, *result, cases);
  if (result->broken) return fail(console, ExitCode::environment, *result->broken);
  if (result->failed > 0) return ExitCode::findings;
  return in_full(*result) ? ExitCode::clean : ExitCode::environment;
}

}  // namespace

Action add_enumerate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("enumerate", "Judge a subject on every case of a bound");
  const auto options = std::make_shared<EnumerateCommand>();
  add_number(*command, {"--max-ranks", "Ranks of the world, both sides together (default 8)", 2, 64},
             options->max_ranks);
  add_number(*command, {"--max-dims", "Dims of the tensor, from 0 (default 2)", 0, 4}, options->max_dims);
  add_number(*command, {"--max-extent", "Largest extent of a dim (default 5)", 0, 64}, options->max_extent);
  add_number(*command, {"--min-extent", "Smallest extent of a dim (default 1)", 0, 64}, options->min_extent);
  add_number(*command, {"--max-axes", "Axes of one mesh (default 2)", 1, 4}, options->max_axes);
  command->add_option("--rules", options->rules, "Split rules, with commas between, or all (default chunk)")
      ->type_name("RULES");
  command->add_flag("--rank-orders", options->rank_orders, "Every order of the ranks of each mesh");
  command->add_flag("--overlap", options->overlap, "Also meshes that share ranks");
  command->add_option("--shard", options->shard, "Visit one part of several, such as 3/8")->type_name("I/N");
  add_number(*command, {"--jobs", "Threads (default 1)", 1, 256}, options->jobs);
  command->add_flag("--count", options->count, "Only say how many cases the bound holds");
  add_run_options(*command, options->run);
  command->add_flag("--json", options->json, "Print one JSON object an event");
  command->add_flag("--quiet", options->quiet, "Print the first line, the simplest failure and the last line only");
  command->footer(
      "Exit code 0: every case of the bound (or shard) passed. 1: some failed. 3: it was not visited in full.\n"
      "Examples:\n"
      "  reshardcheck enumerate --jobs 2\n"
      "  reshardcheck enumerate --max-ranks 4 --max-dims 1 --max-axes 1 --rules all --subject "
      "mutant:balanced-as-chunk\n"
      "  reshardcheck enumerate --max-dims 3 --shard 3/8");
  return [options](Console& console) { return enumerate(console, *options); };
}

}  // namespace reshardcheck::cli
