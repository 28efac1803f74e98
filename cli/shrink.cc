// reshardcheck shrink: makes a failing case as small as it can and still fail in the same way.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/case_sizes.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/runners.h"
#include "cli/verdict_report.h"
#include "core/layout/json.h"
#include "fuzz/corpus.h"
#include "fuzz/sequence.h"
#include "fuzz/shrinker.h"
#include "verifier/runner.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

struct ShrinkCommand {
  std::vector<std::string> arguments;
  RunOptions run;
  std::string out;
  std::int64_t max_runs = 10'000;
  bool json = false;
  bool quiet = false;
};

/// Shrinks the cases and sequences of one command line, one after the other, with one runner.
class Session {
 public:
  Session(Console& console, const ShrinkCommand& command, Runner& runner)
      : console_(console), command_(command), runner_(runner) {}

  ExitCode shrink_one(const Sequence& value) {
    const Result<SequenceVerdict> verdict = run_sequence(runner_, value);
    if (!verdict && runner_.broken()) return fail(console_, ExitCode::environment, verdict.error().reason);
    if (!verdict) return fail(console_, ExitCode::usage, verdict.error().reason);
    if (!verdict->verdict.failed()) {
      print_event("passes", value, verdict->verdict);
      return ExitCode::clean;
    }
    print_event("fails", value, verdict->verdict);
    const RunSequence run = [this](const Sequence& smaller) -> std::optional<SequenceVerdict> {
      Result<SequenceVerdict> smaller_verdict = run_sequence(runner_, smaller);
      if (!smaller_verdict) return std::nullopt;
      return *std::move(smaller_verdict);
    };
    return report(value, *verdict, shrink_sequence(value, *verdict, run, shrink_options()));
  }

 private:
  SequenceShrinkOptions shrink_options() {
    SequenceShrinkOptions options;
    options.max_runs = command_.max_runs;
    options.out_of_time = [this] { return InterruptGuard::interrupted() || console_.out.closed(); };
    options.on_best = [this](const Sequence& best, const Verdict& verdict) {
      if (!command_.quiet) print_event("smaller", best, verdict);
    };
    options.on_slipped = [this](const Sequence& slipped, const Verdict& verdict) {
      if (!command_.quiet) print_event("another failure", slipped, verdict);
    };
    return options;
  }

  void print_event(std::string_view event, const Sequence& value, const Verdict& verdict) {
    if (command_.json) {
      const ordered_json line{{"event", event}, {"case", to_text(value)}, {"verdict", name(verdict.kind)}};
      console_.out.line(json_line(line));
    } else {
      console_.out.line(fmt::format("{}: {}  ({})", event, to_text(value), name(verdict.kind)));
    }
  }

  ExitCode report(const Sequence& original, const SequenceVerdict& original_verdict,
                  const SequenceShrinkResult& result) {
    const std::size_t last = result.minimal.steps.size() - 1;
    const CaseReport minimal{
        &result.minimal,          "", command_.run.subject, command_.run.world, result.verdict, last, 0,
        where_flags(command_.run)};
    std::string file;
    if (!command_.out.empty()) {
      const Result<std::string> written =
          write_finding(command_.out, CorpusFolder::crashing, finding(original, original_verdict, result));
      if (!written) return fail(console_, ExitCode::environment, written.error().reason);
      file = *written;
    }
    if (command_.json) {
      ordered_json line = report_json(minimal);
      line.erase("elapsed_us");
      line["event"] = "minimal";
      line["runs"] = result.runs;
      line["one_minimal"] = result.one_minimal;
      if (!file.empty()) line["file"] = file;
      console_.out.line(json_line(line));
    } else {
      console_.out.line(fmt::format("minimal after {}{}: {}", count_of(result.runs, "run"),
                                    result.one_minimal ? "" : " (stopped early: a smaller one may exist)",
                                    name(result.verdict.kind)));
      console_.out.line(failure_lines(minimal, "  "));
      if (!file.empty()) console_.out.line("  written: " + file);
    }
    return ExitCode::findings;
  }

  Finding finding(const Sequence& original, const SequenceVerdict& original_verdict,
                  const SequenceShrinkResult& result) const {
    Finding found;
    found.minimal = result.minimal;
    found.original = original;
    found.verdict = result.verdict;
    found.original_verdict = original_verdict;
    found.bucket = bucket(result.verdict.kind);
    found.subject = command_.run.subject;
    found.world = command_.run.world;
    found.where = where_flags(command_.run);
    found.shrink_runs = result.runs;
    found.one_minimal = result.one_minimal;
    return found;
  }

  Console& console_;
  const ShrinkCommand& command_;
  Runner& runner_;
};

ExitCode shrink_all(Console& console, const ShrinkCommand& command) {
  const Result<ExecutorOptions> options = executor_options(command.run);
  if (!options) return fail(console, ExitCode::usage, options.error().reason);
  const Result<MakeRunner> make_runner = make_runners(command.run);
  if (!make_runner) return fail(console, ExitCode::usage, make_runner.error().reason);
  const Result<std::vector<InputSequence>> cases = read_sequences(command.arguments);
  if (!cases) return fail(console, ExitCode::usage, cases.error().reason, input_hint(command.arguments));
  const std::optional<Refusal> too_large = refuse_sizes(*cases, options->max_bytes);
  if (too_large) return fail(console, ExitCode::usage, too_large->reason, too_large->hint);
  const Result<std::unique_ptr<Runner>> runner = (*make_runner)(command.run.subject);
  if (!runner) {
    return fail(console, ExitCode::usage, runner.error().reason, "'reshardcheck subjects' lists what can be judged");
  }
  const InterruptGuard guard;
  Session session(console, command, **runner);
  ExitCode code = ExitCode::clean;
  for (const InputSequence& input : *cases) {
    const ExitCode each = session.shrink_one(input.value);
    if (each == ExitCode::usage || each == ExitCode::environment) return each;
    if (each != ExitCode::clean) code = each;
    if (console.out.closed() || InterruptGuard::interrupted()) break;
  }
  return code;
}

}  // namespace

Action add_shrink(CLI::App& app) {
  CLI::App* command = app.add_subcommand("shrink", "Make a failing case minimal");
  const auto options = std::make_shared<ShrinkCommand>();
  command->add_option("case", options->arguments, "Case text, JSON, a file of cases, or - for standard input")
      ->required()
      ->type_name("CASE|FILE");
  add_run_options(*command, options->run);
  add_number(*command, {"--max-runs", "Stop after this many runs (default 10000)", 1}, options->max_runs);
  command->add_option("--out", options->out, "Write the minimal case to DIR/crashing")->type_name("DIR");
  command->add_flag("--json", options->json, "Print one JSON object a step");
  command->add_flag("--quiet", options->quiet, "Print the result only");
  command->footer(
      "Exit code 1: the case fails and its minimal form was printed. 0: it passes, there is nothing to shrink.\n"
      "Example:\n"
      "  reshardcheck shrink 'bf16[5,9] 2x2x2@0 S(0),S(0),R -> 3@8 S(1)' --subject mutant:flat-chunk");
  return [options](Console& console) { return shrink_all(console, *options); };
}

}  // namespace reshardcheck::cli
