#include "fuzz/exhaustive.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

/// Cases between two looks at the other jobs: often enough for a person, too seldom to cost anything.
constexpr std::int64_t progress_cases = 1'000;

/// One job: its own runner over every jobs-th case of the shard.
class Job {
 public:
  Job(const ExhaustiveOptions& options, std::unique_ptr<Runner> runner, int number)
      : options_(options), runner_(std::move(runner)), number_(number) {}

  void run(std::atomic<std::int64_t>& visited_by_all) {
    const EnumerationShard part{options_.shard.index + options_.shard.count * number_,
                                options_.shard.count * options_.jobs};
    std::int64_t unreported = 0;
    result_.complete = true;
    enumerate_cases(options_.bound, part, [&](std::int64_t index, const Case& value) {
      if (options_.cancelled && options_.cancelled()) return result_.complete = false;
      judge(index, value);
      result_.broken = runner_->broken();
      if (result_.broken) return result_.complete = false;
      if (++unreported == progress_cases) {
        const std::int64_t all = visited_by_all.fetch_add(unreported) + unreported;
        unreported = 0;
        if (number_ == 0 && options_.on_progress) options_.on_progress(all);
      }
      return true;
    });
    visited_by_all.fetch_add(unreported);
  }

  [[nodiscard]] ExhaustiveResult& result() { return result_; }

 private:
  void judge(std::int64_t index, const Case& value) {
    ++result_.visited;
    const Result<Verdict> verdict = runner_->run(value);
    if (!verdict) {
      ++result_.skipped;
      return;
    }
    ++result_.verdicts[static_cast<std::size_t>(verdict->kind)];
    if (!verdict->failed()) return;
    ++result_.failed;
    if (result_.first.size() < options_.kept_failures) result_.first.push_back({index, value, *verdict});
    if (!result_.simplest || simpler(value, result_.simplest->value)) result_.simplest = {index, value, *verdict};
  }

  const ExhaustiveOptions& options_;
  std::unique_ptr<Runner> runner_;
  int number_;
  ExhaustiveResult result_;
};

/// Adds what one job saw; the order in which jobs are added does not matter.
void merge(ExhaustiveResult& whole, ExhaustiveResult& part, std::size_t kept_failures) {
  whole.visited += part.visited;
  whole.skipped += part.skipped;
  whole.failed += part.failed;
  whole.complete = whole.complete && part.complete;
  if (!whole.broken) whole.broken = part.broken;
  for (std::size_t kind = 0; kind < whole.verdicts.size(); ++kind) whole.verdicts[kind] += part.verdicts[kind];
  std::move(part.first.begin(), part.first.end(), std::back_inserter(whole.first));
  std::sort(whole.first.begin(), whole.first.end(),
            [](const ExhaustiveFailure& a, const ExhaustiveFailure& b) { return a.index < b.index; });
  if (whole.first.size() > kept_failures)
    whole.first.erase(whole.first.begin() + static_cast<std::ptrdiff_t>(kept_failures), whole.first.end());
  if (part.simplest && (!whole.simplest || simpler(part.simplest->value, whole.simplest->value))) {
    whole.simplest = std::move(part.simplest);
  }
}

}  // namespace

Result<ExhaustiveResult> run_exhaustive(const ExhaustiveOptions& options) {
  if (options.jobs < 1) return Error{"a search needs at least one job"};
  if (options.shard.count < 1 || options.shard.index < 0 || options.shard.index >= options.shard.count) {
    return Error{"the shard lies outside its count"};
  }
  const MakeRunner make_runner = options.make_runner ? options.make_runner : local_runners(options.executor);
  std::vector<std::unique_ptr<Job>> jobs;
  for (int number = 0; number < options.jobs; ++number) {
    Result<std::unique_ptr<Runner>> runner = make_runner(options.subject);
    if (!runner) return runner.error();
    jobs.push_back(std::make_unique<Job>(options, *std::move(runner), number));
  }
  std::atomic<std::int64_t> visited{0};
  {
    std::vector<std::jthread> others;
    for (std::size_t number = 1; number < jobs.size(); ++number) {
      others.emplace_back([&visited, job = jobs[number].get()] { job->run(visited); });
    }
    jobs.front()->run(visited);
  }
  ExhaustiveResult whole;
  whole.complete = true;
  for (const std::unique_ptr<Job>& job : jobs) merge(whole, job->result(), options.kept_failures);
  return whole;
}

}  // namespace reshardcheck
