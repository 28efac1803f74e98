// reshardcheck bench power: what the search, the enumerator and a public matrix of layouts each find of the mutants.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/bench.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/layout/json.h"
#include "core/subject/registry.h"
#include "fuzz/corpus.h"
#include "fuzz/power.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

struct PowerCommand {
  std::string mutants;  // as typed; empty: all
  std::string matrix = "golden/m2n_matrix.cases";
  std::int64_t matrix_elements = 1 << 16;
  std::int64_t seeds = 20;
  std::int64_t cases = 2'000;
  std::int64_t jobs = 1;
  bool json = false;
};

ordered_json score_json(const PowerScore& score) {
  ordered_json line{{"event", "mutant"},
                    {"subject", score.subject},
                    {"seeds", score.seeds},
                    {"killed_seeds", score.killed_seeds},
                    {"flaky_seeds", score.flaky_seeds},
                    {"median_cases", nullptr},
                    {"oracles", score.oracles},
                    {"mean_shrink_runs", score.mean_shrink_runs},
                    {"max_shrink_runs", score.max_shrink_runs},
                    {"one_minimal", score.one_minimal},
                    {"finals", score.finals},
                    {"bound", score.bound},
                    {"smallest_in_bound", score.smallest},
                    {"shrinks_to_smallest", score.shrinks_to_smallest},
                    {"matrix_case", nullptr},
                    {"mod256_case", nullptr}};
  if (score.median_cases) line["median_cases"] = *score.median_cases;
  if (score.matrix_case) line["matrix_case"] = *score.matrix_case + 1;
  if (score.mod256_case) line["mod256_case"] = *score.mod256_case + 1;
  return line;
}

std::string yes_or_no(bool value) { return value ? "yes" : "-"; }

std::vector<std::string> score_row(const PowerScore& score) {
  const std::string_view prefix = "mutant:";
  const std::string shown = score.subject.starts_with(prefix) ? score.subject.substr(prefix.size()) : score.subject;
  return {shown,
          fmt::format("{}/{}", score.killed_seeds, score.seeds),
          score.median_cases ? std::to_string(*score.median_cases) : "-",
          score.oracles.empty() ? "-" : score.oracles.front(),
          fmt::format("{:.1f}/{}", score.mean_shrink_runs, score.max_shrink_runs),
          std::to_string(score.finals.size()),
          score.bound.empty() ? "-" : score.bound.substr(0, score.bound.find(',')),
          yes_or_no(score.matrix_case.has_value()),
          yes_or_no(score.mod256_case.has_value()),
          score.finals.empty() ? "-" : shortened(score.finals.front(), 60)};
}

/// The sums a reader wants, as one JSON object; the text prints the same numbers.
ordered_json totals_json(const std::vector<PowerScore>& scores, std::size_t matrix_cases) {
  const auto count = [&scores](auto&& holds) { return std::count_if(scores.begin(), scores.end(), holds); };
  std::vector<std::int64_t> medians;
  for (const PowerScore& score : scores) {
    if (score.median_cases) medians.push_back(*score.median_cases);
  }
  std::sort(medians.begin(), medians.end());
  return {{"event", "totals"},
          {"mutants", scores.size()},
          {"killed_by_search_in_all_seeds", count([](const PowerScore& s) { return s.killed_seeds == s.seeds; })},
          {"killed_by_search_in_19_of_20_seeds",
           count([](const PowerScore& s) { return s.killed_seeds * 20 >= s.seeds * 19; })},
          {"median_of_medians", medians.empty() ? 0 : medians[medians.size() / 2]},
          {"killed_by_enumerator", count([](const PowerScore& s) { return !s.bound.empty(); })},
          {"shrinks_to_smallest", count([](const PowerScore& s) { return !s.bound.empty() && s.shrinks_to_smallest; })},
          {"one_minimal", count([](const PowerScore& s) { return s.one_minimal; })},
          {"at_most_2_finals", count([](const PowerScore& s) { return s.finals.size() <= 2; })},
          {"at_most_4_ranks", count([](const PowerScore& s) { return s.final_ranks <= 4; })},
          {"matrix_cases", matrix_cases},
          {"killed_by_matrix_with_our_oracles", count([](const PowerScore& s) { return s.matrix_case.has_value(); })},
          {"killed_by_matrix_with_mod256", count([](const PowerScore& s) { return s.mod256_case.has_value(); })}};
}

Result<std::vector<Case>> read_matrix(const PowerCommand& command) {
  Result<std::vector<FileCase>> read = read_cases(command.matrix);
  if (!read) return read.error();
  std::vector<Case> matrix;
  for (FileCase& each : *read) {
    if (each.value.total_elements() <= command.matrix_elements) matrix.push_back(std::move(each.value));
  }
  return matrix;
}

std::vector<std::string> chosen_mutants(const PowerCommand& command) {
  std::vector<std::string> names;
  if (!command.mutants.empty()) {
    for (const std::string& word : split_words(command.mutants, ',')) names.push_back("mutant:" + word);
    return names;
  }
  for (const SubjectInfo& info : subject_catalogue()) {
    if (info.name.starts_with("mutant:")) names.push_back(info.name);
  }
  return names;
}

/// Measures the mutants, `jobs` at a time; results in the order of the names.
class PowerRun {
 public:
  PowerRun(Console& console, const PowerCommand& command, std::vector<std::string> names, std::vector<Case> matrix)
      : command_(command),
        progress_(console.err),
        names_(std::move(names)),
        matrix_(std::move(matrix)),
        scores_(names_.size(), PowerScore{}),
        errors_(names_.size()) {}

  Result<std::vector<PowerScore>> run() {
    {
      std::vector<std::jthread> jobs;
      for (std::int64_t i = 0; i < command_.jobs; ++i) jobs.emplace_back([this] { work(); });
    }
    progress_.clear();
    for (const std::string& error : errors_) {
      if (!error.empty()) return Error{error};
    }
    return scores_;
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < names_.size() && !InterruptGuard::interrupted(); i = next_++) {
      PowerOptions options;
      options.subject = names_[i];
      options.seeds = static_cast<int>(command_.seeds);
      options.cases = command_.cases;
      options.bounds = power_bounds();
      options.matrix = matrix_;
      options.cancelled = [] { return InterruptGuard::interrupted(); };
      Result<PowerScore> score = measure_power(options);
      const std::lock_guard lock(mutex_);
      if (score) {
        scores_[i] = *std::move(score);
      } else {
        errors_[i] = score.error().reason;
      }
      ++done_;
      progress_.show(static_cast<double>(done_) / static_cast<double>(names_.size()), done_, "mutants measured");
    }
  }

  const PowerCommand& command_;
  ProgressDisplay progress_;
  std::vector<std::string> names_;
  std::vector<Case> matrix_;
  std::vector<PowerScore> scores_;
  std::vector<std::string> errors_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

void print_scores(Console& console, const PowerCommand& command, const std::vector<PowerScore>& scores,
                  std::size_t matrix_cases) {
  const ordered_json totals = totals_json(scores, matrix_cases);
  if (command.json) {
    for (const PowerScore& score : scores) console.out.line(json_line(score_json(score)));
    console.out.line(json_line(totals));
    return;
  }
  using enum Table::Align;
  std::vector<std::vector<std::string>> rows;
  for (const PowerScore& score : scores) rows.push_back(score_row(score));
  console.out.line(Table::whole({{"mutant", left},
                                 {"seeds", right},
                                 {"cases", right},
                                 {"oracle", left},
                                 {"shrink runs", right},
                                 {"finals", right},
                                 {"bound", left},
                                 {"matrix", left},
                                 {"mod256", left},
                                 {"minimal case", left}},
                                rows));
  console.out.line(
      "seeds: in how many the search killed it; cases: median to kill; shrink runs: mean/max; bound: the first");
  console.out.line(
      fmt::format("of the enumerator that holds a failing case; matrix: {} public layouts of at most {} elements,",
                  matrix_cases, command.matrix_elements));
  console.out.line("judged by our oracles, and by the byte pattern of the public suite (mod256).");
  for (const auto& [key, value] : totals.items()) {
    if (key != "event") console.out.line(fmt::format("  {}: {}", key, json_line(value)));
  }
}

ExitCode bench_power(Console& console, const PowerCommand& command) {
  Result<std::vector<Case>> matrix = read_matrix(command);
  if (!matrix) return fail(console, ExitCode::usage, matrix.error().reason, "--matrix FILE names a file of cases");
  const InterruptGuard guard;
  const std::size_t matrix_cases = matrix->size();
  const Result<std::vector<PowerScore>> scores =
      PowerRun(console, command, chosen_mutants(command), *std::move(matrix)).run();
  if (!scores)
    return fail(console, ExitCode::usage, scores.error().reason, "'reshardcheck subjects' lists the mutants");
  if (InterruptGuard::interrupted()) return fail(console, ExitCode::environment, "interrupted: no score");
  print_scores(console, command, *scores, matrix_cases);
  return ExitCode::clean;
}

}  // namespace

Action add_bench_power(CLI::App& bench) {
  CLI::App* command =
      bench.add_subcommand("power", "What the search, the enumerator and a public matrix find of the mutants");
  const auto options = std::make_shared<PowerCommand>();
  command->add_option("--mutants", options->mutants, "Names with commas between (default: all)")->type_name("NAMES");
  command->add_option("--matrix", options->matrix, "Cases of the matrix (default golden/m2n_matrix.cases)")
      ->type_name("FILE");
  add_number(*command, {"--matrix-elements", "Leave out matrix cases of more elements (default 65536)", 1},
             options->matrix_elements);
  add_number(*command, {"--seeds", "Campaigns a mutant (default 20)", 1, 1'000}, options->seeds);
  add_number(*command, {"--cases", "Cases of a campaign at most (default 2000)", 1}, options->cases);
  add_number(*command, {"--jobs", "Mutants measured at a time (default 1)", 1, 256}, options->jobs);
  command->add_flag("--json", options->json, "Print one JSON object a mutant, and the totals");
  command->footer(
      "Examples:\n"
      "  reshardcheck bench power --jobs 2\n"
      "  reshardcheck bench power --mutants flat-chunk,axis-order --seeds 5 --json");
  return [options](Console& console) { return bench_power(console, *options); };
}

}  // namespace reshardcheck::cli
