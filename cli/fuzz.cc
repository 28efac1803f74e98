// reshardcheck fuzz: searches for layouts on which a subject fails.
//
// Standard output carries the campaign's own lines (text or JSON), which depend on seed and budget alone. What depends
// on the clock, the progress, goes to the error stream: a bar on a terminal, now and then a line elsewhere.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/runners.h"
#include "core/layout/json.h"
#include "core/layout/notation.h"
#include "fuzz/campaign.h"
#include "fuzz/corpus.h"

namespace reshardcheck::cli {
namespace {

constexpr double default_seconds = 20;
constexpr std::int64_t max_elements = 1 << 13;  // of a tensor, where more dims and larger extents are asked for
constexpr int fault_percent = 50;               // of the cases, with --faults

struct FuzzCommand {
  RunOptions run;
  double seconds = 0;
  std::int64_t cases = 0;
  std::string seed;   // as typed; empty: from the clock
  std::string ranks;  // as typed
  std::int64_t max_dims = GeneratorOptions{}.max_dims;
  std::int64_t max_axes = GeneratorOptions{}.max_axes;
  std::int64_t max_tensors = GeneratorOptions{}.max_tensors;
  std::int64_t max_extent = GeneratorOptions{}.max_extent;
  std::string out;
  std::string coverage;  // a file for it
  std::int64_t stop_after = 1;
  bool sequences = false;
  bool faults = false;
  bool json = false;
  bool quiet = false;
};

/// Prints a campaign as it goes.
class CampaignPrinter final : public CampaignObserver {
 public:
  CampaignPrinter(Console& console, const FuzzCommand& command)
      : console_(console), command_(command), progress_(console.err) {}

  void on_start(const CampaignOptions& options) override {
    print(command_.json ? json_line(start_json(options)) : first_line(options));
  }
  void on_case(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict) override {
    if (command_.json && !command_.quiet) print(json_line(case_json(index, value, verdict)));
  }
  void on_progress(const CampaignProgress& progress) override {
    constexpr std::int64_t cases_between_looks = 16;  // a look at the clock costs as much as a part of a case
    if (command_.quiet || progress.cases % cases_between_looks != 0) return;
    progress_.show(progress.fraction, progress.cases, count_of(progress.findings, "finding"));
  }
  void on_left_in_flight(const LeftInFlight& left) override {
    if (command_.json) {
      print(json_line(nlohmann::json{{"event", "left_in_flight"}, {"case", left.text}, {"file", left.file}}));
    } else {
      print(fmt::format("a case was in flight when an earlier campaign was killed:\n  {}\n  kept in {}",
                        left.text.empty() ? "(its file does not say which)" : left.text, left.file));
    }
  }
  void on_warning(const std::string& warning) override {
    progress_.clear();
    console_.err.line("reshardcheck: warning: " + warning);
  }
  void on_failure(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict) override {
    if (!command_.json && !command_.quiet) print(failure_lines(index, value, verdict));
  }
  void on_best(const Sequence& value, const Verdict& verdict) override {
    if (!command_.json && !command_.quiet) print(smaller_line(value, verdict));
  }
  void on_finding(const Finding& finding) override {
    print(command_.json ? json_line(finding_json(finding)) : finding_lines(finding));
  }
  void on_end(const CampaignOptions& options, const CampaignResult& result) override {
    if (!command_.json && !command_.quiet && result.environment.empty()) print(result.coverage.text());
    if (!command_.json) print(fault_table(result));
    print(command_.json ? json_line(end_json(options, result)) : last_line(options, result));
  }

 private:
  void print(std::string_view text) {
    if (text.empty()) return;
    progress_.clear();
    while (text.ends_with('\n')) text.remove_suffix(1);
    console_.out.line(text);
  }

  Console& console_;
  const FuzzCommand& command_;
  ProgressDisplay progress_;
};

std::uint64_t seed_from_clock() {
  constexpr std::uint64_t short_enough_to_type = 1'000'000'000;
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % short_enough_to_type;
}

/// A memory limit too small for what every campaign begins with is the user's, not the environment's.
Status check_max_bytes(const RunOptions& options, std::int64_t max_bytes) {
  const std::int64_t needed = known_answers_bytes();
  if (options.max_bytes.empty() || needed <= max_bytes) return Ok{};
  return Error{fmt::format("--max-bytes: the known answers that a campaign begins with need {} bytes, {} are allowed",
                           needed, max_bytes)};
}

Result<CampaignOptions> campaign_options(const FuzzCommand& command) {
  CampaignOptions options;
  if (command.faults && command.run.world != "sim") {
    return Error{fmt::format("--faults: the {} world cannot inject faults, only the sim world can", command.run.world)};
  }
  const Result<ExecutorOptions> executor = executor_options(command.run);
  if (!executor) return executor.error();
  const Status enough = check_max_bytes(command.run, executor->max_bytes);
  if (!enough) return enough.error();
  options.executor = *executor;
  const Result<MakeRunner> make_runner = make_runners(command.run);
  if (!make_runner) return make_runner.error();
  options.make_runner = *make_runner;
  options.relations = has_relations(command.run.oracles);
  options.fault_percent = command.faults ? fault_percent : 0;
  options.subject = command.run.subject;
  options.world = command.run.world;
  options.where = where_flags(command.run);
  options.build = build_description();
  options.sequences = command.sequences;
  options.cases = command.cases;
  options.seconds = command.cases == 0 && command.seconds == 0 ? default_seconds : command.seconds;
  options.stop_after = command.stop_after;
  options.out_directory = command.out;
  options.clock_seconds = clock_seconds;
  options.seed = seed_from_clock();
  if (!command.seed.empty()) {
    const std::optional<std::uint64_t> seed = parse_unsigned(command.seed);
    if (!seed) return Error{fmt::format("--seed: '{}' is no whole number", command.seed)};
    options.seed = *seed;
  }
  options.generator.max_dims = static_cast<int>(command.max_dims);
  options.generator.max_axes = static_cast<int>(command.max_axes);
  options.generator.max_tensors = static_cast<int>(command.max_tensors);
  options.generator.max_extent = command.max_extent;
  options.generator.max_elements = max_elements;
  if (!command.ranks.empty()) {
    const Result<RankRange> ranks = parse_rank_range(command.ranks);
    if (!ranks) return Error{"--ranks: " + ranks.error().reason};
    options.generator.min_world_ranks = ranks->lowest;
    options.generator.max_world_ranks = ranks->highest;
  }
  return options;
}

ExitCode exit_code(CampaignEnd end) {
  switch (end) {
    case CampaignEnd::clean:
      return ExitCode::clean;
    case CampaignEnd::findings:
      return ExitCode::findings;
    case CampaignEnd::environment:
    case CampaignEnd::interrupted:
      return ExitCode::environment;
    case CampaignEnd::only_flaky:
      return ExitCode::flaky;
  }
  return ExitCode::environment;
}

ExitCode fuzz(Console& console, const FuzzCommand& command) {
  Result<CampaignOptions> options = campaign_options(command);
  if (!options) return fail(console, ExitCode::usage, options.error().reason);
  const InterruptGuard guard;
  options->cancelled = [&console] { return InterruptGuard::interrupted() || console.out.closed(); };
  CampaignPrinter printer(console, command);
  const Result<CampaignResult> result = run_campaign(*options, printer);
  if (!result) {
    return fail(console, ExitCode::usage, result.error().reason, "'reshardcheck fuzz --help' shows the options");
  }
  if (result->end == CampaignEnd::environment) {
    return fail(console, ExitCode::environment, result->environment, "'reshardcheck doctor' examines the installation");
  }
  if (!command.coverage.empty()) {
    const Status written = write_file_whole(command.coverage, result->coverage.to_json().dump(2) + "\n");
    if (!written) return fail(console, ExitCode::environment, written.error().reason);
  }
  return exit_code(result->end);
}

}  // namespace

Action add_fuzz(CLI::App& app) {
  CLI::App* command = app.add_subcommand("fuzz", "Search for layouts on which a subject fails");
  const auto options = std::make_shared<FuzzCommand>();
  command->add_option("--seconds", options->seconds, "Stop after this long (default 20 when --cases is not given)")
      ->check(seconds_between(0.001, 1'000'000'000))
      ->type_name("N");
  add_number(*command, {"--cases", "Stop after this many cases, or sequences", 1}, options->cases);
  command->add_flag("--sequences", options->sequences,
                    "Search sequences: several cases that one subject gets one after the other");
  command->add_option("--seed", options->seed, "Same seed, same cases (default: from the clock, printed)")
      ->type_name("N");
  command->add_option("--ranks", options->ranks, "Ranks of a world, at least and at most (default: up to 18)")
      ->type_name("A..B");
  add_number(*command, {"--max-dims", "Dims of a tensor (default 3)", 0, limits::max_dims}, options->max_dims);
  add_number(*command, {"--max-axes", "Axes of a mesh (default 3)", 1, limits::max_axes}, options->max_axes);
  add_number(*command, {"--max-tensors", "Tensors of a mix (default 6)", 1, 256}, options->max_tensors);
  add_number(*command, {"--max-extent", "Largest extent of a dim (default 12)", 1, 4'096}, options->max_extent);
  add_run_options(*command, options->run);
  command->add_option("--out", options->out, "Write findings to DIR/crashing (default: print them only)")
      ->type_name("DIR");
  add_number(*command, {"--stop-after", "Stop after this many different findings, 0: never (default 1)"},
             options->stop_after);
  command->add_flag("--faults", options->faults,
                    "Give half of the cases one or two faults (lost, doubled, damaged messages; dead ranks): none may "
                    "pass with wrong data");
  command->add_option("--coverage", options->coverage, "Write what was covered to a JSON file")->type_name("FILE");
  command->add_flag("--json", options->json, "Print one JSON object an event");
  command->add_flag("--quiet", options->quiet, "Print the first line, findings and the last line only");
  command->footer(
      "Examples:\n"
      "  reshardcheck fuzz --seconds 20\n"
      "  reshardcheck fuzz --subject mutant:flat-chunk --cases 2000 --seed 1 --out found\n"
      "  reshardcheck fuzz --subject reference:direct --cases 5000 --oracles all\n"
      "  reshardcheck fuzz --subject mutant:cache-shape --sequences --cases 2000 --seed 1\n"
      "  reshardcheck fuzz --cases 100000 --ranks 2..8 --stop-after 0 --json\n"
      "  reshardcheck fuzz --ranks 2..64 --max-dims 5 --max-axes 4 --max-extent 300\n"
      "  reshardcheck fuzz --cases 10000 --faults");
  return [options](Console& console) { return fuzz(console, *options); };
}

}  // namespace reshardcheck::cli
