// reshardcheck run: runs cases with a subject and prints what each showed.
//
// The table is the one that users of nccl-tests read: one line a case, sizes, a #wrong column, the time. A failing
// case is followed by what went wrong and by the commands to go on with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "cli/case_sizes.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/junit.h"
#include "cli/options.h"
#include "cli/runners.h"
#include "cli/verdict_report.h"
#include "core/layout/json.h"
#include "fuzz/corpus.h"
#include "fuzz/sequence.h"
#include "verifier/runner.h"

namespace reshardcheck::cli {
namespace {

struct RunCommand {
  std::vector<std::string> arguments;
  RunOptions run;
  std::string junit;
  std::int64_t repeat = 1;
  bool json = false;
  bool quiet = false;
};

/// Prints reports as they come, in the form that was asked for.
class Printer {
 public:
  Printer(Console& console, const RunCommand& command, std::size_t cases);
  void start(std::size_t cases);
  void report(const CaseReport& report);
  void summary();

  [[nodiscard]] ExitCode exit_code() const;

 private:
  void print_row(const CaseReport& report);

  Console& console_;
  const RunCommand& command_;
  Table table_;
  std::int64_t number_ = 0;
  std::int64_t elapsed_us_ = 0;
  std::array<std::int64_t, verdict_kinds> counts_{};
};

/// What a row says of the size of a case; of a sequence, the ranks of its largest world and the sums of the rest.
struct Totals {
  std::int64_t ranks = 0;
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

Totals totals_of(const Sequence& sequence) {
  Totals totals;
  for (const Case& step : sequence.steps) {
    totals.ranks = std::max(totals.ranks, step.world_ranks());
    totals.tensors += std::ssize(step.tensors);
    totals.elements += step.total_elements();
    for (const TensorCase& tensor : step.tensors) totals.bytes += elements(tensor.shape()) * width_bytes(tensor.dtype);
  }
  return totals;
}

std::vector<Table::Column> columns() {
  using enum Table::Align;
  return {{"case", right, 6},      {"ranks", right, 5},    {"tensors", right, 7},
          {"elements", right, 10}, {"bytes", right, 11},   {"#wrong", right, 8},
          {"verdict", left, 10},   {"time(us)", right, 9}, {"what", left, 0}};
}

Printer::Printer(Console& console, const RunCommand& command, std::size_t cases)
    : console_(console), command_(command), table_(columns(), " ") {
  start(cases);
}

void Printer::start(std::size_t cases) {
  if (command_.json || command_.quiet) return;
  console_.out.line(fmt::format("# reshardcheck run: {}, subject {}, world {}",
                                count_of(static_cast<std::int64_t>(cases), "case"), command_.run.subject,
                                command_.run.world));
  console_.out.line("#" + table_.header().substr(1));
}

void Printer::print_row(const CaseReport& report) {
  constexpr std::size_t what_width = 72;
  const Totals totals = totals_of(*report.value);
  const std::string text = to_text(*report.value);
  const std::string what = report.place.empty() ? text : report.place + "  " + text;
  std::string row = table_.row({std::to_string(number_), std::to_string(totals.ranks), std::to_string(totals.tensors),
                                std::to_string(totals.elements), std::to_string(totals.bytes),
                                std::to_string(report.verdict.wrong_elements), std::string(name(report.verdict.kind)),
                                std::to_string(report.elapsed_us), shortened(what, what_width)});
  console_.out.line(console_.out.paint(report.verdict.failed() ? Colour::red : Colour::plain, row));
}

void Printer::report(const CaseReport& report) {
  ++number_;
  ++counts_[static_cast<std::size_t>(report.verdict.kind)];
  elapsed_us_ += report.elapsed_us;
  if (command_.json) {
    console_.out.line(json_line(report_json(report)));
    return;
  }
  const bool failed = report.verdict.failed();
  if (!failed && command_.quiet) return;
  print_row(report);
  if (failed) {
    console_.out.line(fmt::format("{}\n#   shrink: {}", failure_lines(report, "#   "), shrink_command(report)));
  } else if (report.verdict.kind == VerdictKind::unsupported) {
    console_.out.line("#   " + detail_text(report));
  }
}

void Printer::summary() {
  if (command_.json || command_.quiet) return;
  std::string verdicts;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", counts_[i], name(static_cast<VerdictKind>(i)));
  }
  console_.out.line(fmt::format("# {}: {} ({})", count_of(number_, "case"), verdicts, human_time(elapsed_us_)));
}

ExitCode Printer::exit_code() const {
  std::int64_t failures = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (is_failure(static_cast<VerdictKind>(i))) failures += counts_[i];
  }
  if (failures == 0) return ExitCode::clean;
  return failures == counts_[static_cast<std::size_t>(VerdictKind::flaky)] ? ExitCode::flaky : ExitCode::findings;
}

/// Cases against the ranks of the world: a launcher has started as many as it was told to.
Status check_ranks(const std::vector<InputSequence>& input, std::int64_t max_ranks) {
  const InputSequence* largest = nullptr;
  std::int64_t ranks = 0;
  for (const InputSequence& each : input) {
    const std::int64_t here = totals_of(each.value).ranks;
    if (here > ranks) largest = &each;
    ranks = std::max(ranks, here);
  }
  if (largest == nullptr || ranks <= max_ranks) return Ok{};
  return Error{fmt::format("{}the case has {} ranks, this world holds {}", place_prefix(*largest), ranks, max_ranks)};
}

Result<CaseReport> run_one(const InputSequence& input, Runner& runner, const RunCommand& command) {
  const auto begin = std::chrono::steady_clock::now();
  Result<SequenceVerdict> verdict = run_sequence(runner, input.value);
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  if (!verdict) return verdict.error();
  CaseReport report{
      &input.value,  input.place, command.run.subject,      command.run.world, std::move(verdict->verdict),
      verdict->step, 0,           where_flags(command.run), command.repeat};
  report.elapsed_us = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
  return report;
}

/// The first run of several that fails, or the last.
Result<CaseReport> run_repeatedly(const InputSequence& input, Runner& runner, const RunCommand& command) {
  Result<CaseReport> report = run_one(input, runner, command);
  for (std::int64_t runs = 1; runs < command.repeat && report.ok() && !report->verdict.failed(); ++runs) {
    report = run_one(input, runner, command);
  }
  return report;
}

ExitCode write_junit(Console& console, const std::string& path, const std::vector<JunitCase>& cases) {
  const Status written = write_file_whole(path, junit_xml("reshardcheck", cases));
  if (written.ok()) return ExitCode::clean;
  return fail(console, ExitCode::environment, written.error().reason);
}

ExitCode run(Console& console, const RunCommand& command) {
  const Result<ExecutorOptions> options = executor_options(command.run);
  if (!options) return fail(console, ExitCode::usage, options.error().reason);
  const Result<MakeRunner> make_runner = make_runners(command.run);
  if (!make_runner) return fail(console, ExitCode::usage, make_runner.error().reason);
  std::vector<std::string> unreadable;
  const Result<std::vector<InputSequence>> cases = read_sequences(command.arguments, &unreadable);
  for (const std::string& reason : unreadable) fail(console, ExitCode::usage, reason);
  if (!cases) return fail(console, ExitCode::usage, cases.error().reason, input_hint(command.arguments));
  const std::optional<Refusal> too_large = refuse_sizes(*cases, options->max_bytes);
  if (too_large) return fail(console, ExitCode::usage, too_large->reason, too_large->hint);
  // Last, because a launcher takes its time.
  const Result<std::unique_ptr<Runner>> runner = (*make_runner)(command.run.subject);
  if (!runner) {
    return fail(console, ExitCode::usage, runner.error().reason, "'reshardcheck subjects' lists what can be judged");
  }
  const Status ranks = check_ranks(*cases, (*runner)->max_world_ranks());
  if (!ranks) {
    return fail(console, ExitCode::usage, ranks.error().reason,
                command.run.launch.empty() ? "" : "have --launch start as many processes, such as 'mpirun -np N'");
  }

  Printer printer(console, command, cases->size());
  std::vector<JunitCase> junit;
  for (const InputSequence& input : *cases) {
    const Result<CaseReport> report = run_repeatedly(input, **runner, command);
    if (!report) {
      if ((*runner)->broken()) return fail(console, ExitCode::environment, report.error().reason);
      return fail(console, ExitCode::usage, place_prefix(input) + report.error().reason);
    }
    printer.report(*report);
    if (!command.junit.empty()) {
      junit.push_back(
          {to_text(input.value), report->subject, report->verdict.kind, detail_text(*report), report->elapsed_us});
    }
    if (console.out.closed()) break;
  }
  printer.summary();
  if (!command.junit.empty()) {
    const ExitCode written = write_junit(console, command.junit, junit);
    if (written != ExitCode::clean) return written;
  }
  return unreadable.empty() ? printer.exit_code() : ExitCode::usage;  // not all has been judged
}

}  // namespace

Action add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run cases and print what each showed");
  const auto options = std::make_shared<RunCommand>();
  command
      ->add_option("case", options->arguments, "Case text, JSON, a file of cases, a directory, or - for standard input")
      ->required()
      ->type_name("CASE|FILE");
  add_run_options(*command, options->run);
  add_number(*command, {"--repeat", "Run each case up to N times, until it fails (default 1)", 1}, options->repeat);
  command->add_flag("--json", options->json, "Print one JSON object a case");
  command->add_option("--junit", options->junit, "Also write JUnit XML to this file")->type_name("FILE");
  command->add_flag("--quiet", options->quiet, "Print failing cases only");
  command->footer(
      std::string(notation_help) +
      "Examples:\n"
      "  reshardcheck run 'bf16[8,8] 2@0 S(0) -> 4@2 S(1)'\n"
      "  reshardcheck run golden/m2n_matrix.cases --subject reference:direct --quiet\n"
      "  reshardcheck run 'u8[6] 2x2@0 S(0),S(0) -> 1@4 R' --subject mutant:flat-chunk\n"
      "  reshardcheck run 'u8[4] 2@0 S(0) -> 1@2 R >> u8[6] 2@0 S(0) -> 1@2 R' --subject mutant:cache-shape\n"
      "  reshardcheck run crashing/*.case --json --junit results.xml");
  return [options](Console& console) { return run(console, *options); };
}

}  // namespace reshardcheck::cli
