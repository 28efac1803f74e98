#include "fuzz/power.h"

#include <algorithm>
#include <map>
#include <memory>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "core/world/sim.h"
#include "fuzz/campaign.h"
#include "fuzz/exhaustive.h"
#include "fuzz/shrinker.h"
#include "fuzz/upstream_rule.h"

namespace reshardcheck {
namespace {

/// The keys of a tally, most frequent first, ties in the order of the keys.
std::vector<std::string> by_frequency(const std::map<std::string, int>& tally) {
  std::vector<std::pair<std::string, int>> entries(tally.begin(), tally.end());
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> keys;
  for (auto& [key, count] : entries) keys.push_back(std::move(key));
  return keys;
}

/// A minimal case and how it fails.
struct Final {
  Case value;
  VerdictKind kind = VerdictKind::pass;
};

/// One campaign a seed.
Status measure_search(const PowerOptions& options, PowerScore& score, std::vector<Final>& finals) {
  std::map<std::string, int> oracles;
  std::map<std::string, int> texts;
  std::vector<std::int64_t> cases_to_kill;
  std::int64_t shrink_runs = 0;
  for (int seed = 1; seed <= options.seeds && !(options.cancelled && options.cancelled()); ++seed) {
    CampaignOptions campaign;
    campaign.subject = options.subject;
    campaign.seed = static_cast<std::uint64_t>(seed);
    campaign.cases = options.cases;
    campaign.cancelled = options.cancelled;
    CampaignObserver silent;
    const Result<CampaignResult> result = run_campaign(campaign, silent);
    if (!result) return result.error();
    ++score.seeds;
    if (result->findings.empty()) continue;
    const Finding& finding = result->findings.front();
    ++score.killed_seeds;
    score.flaky_seeds += result->end == CampaignEnd::only_flaky ? 1 : 0;
    cases_to_kill.push_back(finding.case_index + 1);
    ++oracles[finding.verdict.oracle.empty() ? std::string(name(finding.verdict.kind)) : finding.verdict.oracle];
    if (++texts[to_text(finding.minimal)] == 1) finals.push_back({finding.minimal.steps.front(), finding.verdict.kind});
    shrink_runs += finding.shrink_runs;
    score.max_shrink_runs = std::max(score.max_shrink_runs, finding.shrink_runs);
    score.one_minimal = score.one_minimal && finding.one_minimal;
  }
  score.oracles = by_frequency(oracles);
  score.finals = by_frequency(texts);
  if (cases_to_kill.empty()) return Ok{};
  std::sort(cases_to_kill.begin(), cases_to_kill.end());
  score.median_cases = cases_to_kill[cases_to_kill.size() / 2];
  score.mean_shrink_runs = static_cast<double>(shrink_runs) / static_cast<double>(score.killed_seeds);
  const auto usual = std::find_if(finals.begin(), finals.end(),
                                  [&score](const Final& each) { return to_text(each.value) == score.finals.front(); });
  score.final_ranks = usual->value.world_ranks();
  score.final_tensors = std::ssize(usual->value.tensors);
  return Ok{};
}

/// The simplest failing case of the first bound that has one, with the definition as the only optional judge: what
/// the others add is certainty about the harness, not about a mutant.
Status measure_bounds(const PowerOptions& options, PowerScore& score, const std::vector<Final>& finals) {
  for (const NamedBound& bound : options.bounds) {
    ExhaustiveOptions exhaustive;
    exhaustive.subject = options.subject;
    exhaustive.bound = bound.bound;
    exhaustive.executor.oracles = {false, false, false, false};
    exhaustive.kept_failures = 1;
    exhaustive.cancelled = options.cancelled;
    const Result<ExhaustiveResult> result = run_exhaustive(exhaustive);
    if (!result) return result.error();
    if (!result->simplest) continue;
    const Case& smallest = result->simplest->value;
    score.bound = bound.name;
    score.smallest = to_text(smallest);
    // The shrinker stays in the bucket it began with, so only finals of the same one can be compared.
    const std::string_view smallest_bucket = bucket(result->simplest->verdict.kind);
    score.shrinks_to_smallest = std::none_of(finals.begin(), finals.end(), [&](const Final& each) {
      return bucket(each.kind) == smallest_bucket && simpler(smallest, each.value);
    });
    return Ok{};
  }
  return Ok{};
}

void measure_matrix(const PowerOptions& options, Subject& subject, PowerScore& score) {
  Executor executor;
  SimWorld world;
  for (std::size_t i = 0; i < options.matrix.size(); ++i) {
    if (options.cancelled && options.cancelled()) return;
    if (!score.matrix_case) {
      const Result<Verdict> verdict = executor.run(options.matrix[i], subject);
      if (verdict && verdict->failed()) score.matrix_case = i;
    }
    if (!score.mod256_case && upstream_rule_fails(options.matrix[i], subject, world)) score.mod256_case = i;
    if (score.matrix_case && score.mod256_case) return;
  }
}

}  // namespace

std::vector<NamedBound> power_bounds() {
  std::vector<NamedBound> bounds;
  bounds.push_back({"default, 5 ranks, 2 dims, extent 3", GeneratorOptions::small_scope(5, 2, 3)});
  bounds.push_back({"default, 8 ranks, 1 dim, extent 5", GeneratorOptions::small_scope(8, 1, 5)});
  bounds.push_back({"default, 3 ranks, 3 dims, extent 3", GeneratorOptions::small_scope(3, 3, 3)});

  GeneratorOptions rules = GeneratorOptions::small_scope(4, 1, 4);
  rules.max_axes = 1;
  rules.rules = {std::begin(all_rules), std::end(all_rules)};
  bounds.push_back({"--rules all, 4 ranks, 1 dim, 1 axis, extent 4", rules});

  GeneratorOptions larger = GeneratorOptions::small_scope(5, 1, 6);
  larger.max_axes = 1;
  larger.rules = {SplitRule::chunk, SplitRule::balanced, SplitRule::even, SplitRule::padded, SplitRule::strided};
  bounds.push_back({"--rules chunk,balanced,even,padded,strided, 5 ranks, 1 dim, 1 axis, extent 6", larger});

  GeneratorOptions orders = GeneratorOptions::small_scope(5, 2, 3);
  orders.max_axes = 1;
  orders.rank_order = 100;
  bounds.push_back({"--rank-orders, 5 ranks, 2 dims, 1 axis, extent 3", orders});

  GeneratorOptions overlap = GeneratorOptions::small_scope(4, 2, 3);
  overlap.max_axes = 1;
  overlap.overlap = 50;
  bounds.push_back({"--overlap, 4 ranks, 2 dims, 1 axis, extent 3", overlap});
  return bounds;
}

Result<PowerScore> measure_power(const PowerOptions& options) {
  const Result<std::unique_ptr<Subject>> subject = make_subject(options.subject);
  if (!subject) return subject.error();
  PowerScore score;
  score.subject = options.subject;
  std::vector<Final> finals;
  Status done = measure_search(options, score, finals);
  if (done) done = measure_bounds(options, score, finals);
  if (!done) return done.error();
  measure_matrix(options, **subject, score);
  return score;
}

}  // namespace reshardcheck
