// Goal: a campaign finds seeded bugs, passes the reference, repeats itself, keeps to its budget and knows when nothing
// it says could be believed. Method: real subjects on the simulated world, small budgets, injected clocks.
#include "fuzz/campaign.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

CampaignOptions options_for(std::string subject, std::int64_t cases, std::uint64_t seed = 1) {
  CampaignOptions options;
  options.subject = std::move(subject);
  options.cases = cases;
  options.seed = seed;
  return options;
}

CampaignResult run(const CampaignOptions& options) {
  CampaignObserver silent;
  const Result<CampaignResult> result = run_campaign(options, silent);
  EXPECT_TRUE(result.ok()) << result.error().reason;
  return *result;
}

constexpr std::string_view first_mutants[] = {"flat-chunk",      "balanced-as-chunk", "axis-order", "segments-as-plain",
                                              "rank-arithmetic", "replica-merge",     "chunk-tail", "lost-send",
                                              "overrun",         "scribble-source"};

TEST(Campaign, PassesTheReference) {
  const CampaignResult result = run(options_for("reference", 1'500));
  EXPECT_EQ(result.end, CampaignEnd::clean);
  EXPECT_EQ(result.cases, 1'500);
  EXPECT_EQ(result.verdicts[static_cast<std::size_t>(VerdictKind::pass)], 1'500);
}

TEST(Campaign, FindsTheSeededBugsFromEverySeedAndEndsInAtMostTwoMinimalCases) {
  Executor executor;
  for (const std::string_view mutant : first_mutants) {
    std::set<std::string> minimal;
    const std::string subject_name = "mutant:" + std::string(mutant);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const CampaignResult result = run(options_for(subject_name, 2'000, seed));
      ASSERT_EQ(result.end, CampaignEnd::findings) << mutant << " seed " << seed;
      const Finding& finding = result.findings.front();
      EXPECT_TRUE(finding.one_minimal);
      if (!minimal.insert(to_text(finding.minimal)).second) continue;
      const Result<std::unique_ptr<Subject>> subject = make_subject(subject_name);
      ASSERT_TRUE(subject.ok());
      for (const Case& smaller : smaller_cases(finding.minimal.steps.front())) {
        const Result<Verdict> verdict = executor.run(smaller, **subject);
        ASSERT_TRUE(verdict.ok());
        EXPECT_TRUE(!verdict->failed() || bucket(verdict->kind) != bucket(finding.verdict.kind))
            << mutant << ": " << to_text(smaller);
      }
    }
    EXPECT_LE(minimal.size(), 2u) << mutant << ": " << ::testing::PrintToString(minimal);
  }
}

TEST(Campaign, SaysTheSameForOneSeedAndSomethingElseForAnother) {
  const CampaignResult once = run(options_for("mutant:flat-chunk", 300, 5));
  const CampaignResult again = run(options_for("mutant:flat-chunk", 300, 5));
  EXPECT_EQ(once.digest, again.digest);
  EXPECT_EQ(once.cases, again.cases);
  ASSERT_EQ(once.findings.size(), again.findings.size());
  EXPECT_EQ(finding_json(once.findings[0]), finding_json(again.findings[0]));
  EXPECT_NE(run(options_for("reference", 50, 5)).digest, run(options_for("reference", 50, 6)).digest);
}

TEST(Campaign, GoesOnAfterAFindingUntilItHasEnough) {
  CampaignOptions options = options_for("mutant:size-one-axis", 400);
  options.stop_after = 0;
  const CampaignResult all = run(options);
  EXPECT_EQ(all.cases, 400);
  std::set<std::string> buckets;
  std::int64_t duplicates = 0;
  for (const Finding& finding : all.findings) {
    EXPECT_TRUE(buckets.insert(finding.bucket).second) << finding.bucket;
    duplicates += finding.duplicates;
  }
  EXPECT_GT(duplicates, 0);
  options.stop_after = 1;
  EXPECT_LT(run(options).cases, 400);
}

TEST(Campaign, CallsABugFlakyThatDoesNotShowEveryTime) {
  const CampaignResult result = run(options_for("mutant:one-in-twenty", 500));
  EXPECT_EQ(result.end, CampaignEnd::only_flaky);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].verdict.kind, VerdictKind::flaky);
  EXPECT_LT(result.findings[0].failed_runs, result.findings[0].confirm_runs);
}

TEST(Campaign, EndsWhenItsSecondsAreOver) {
  CampaignOptions options = options_for("reference", 0);
  options.seconds = 10;
  double now = 100;
  options.clock_seconds = [&now] { return now += 0.5; };
  const CampaignResult result = run(options);
  EXPECT_EQ(result.end, CampaignEnd::clean);
  EXPECT_GT(result.cases, 0);
  EXPECT_LT(result.cases, 20);
}

TEST(Campaign, EndsWhenItIsCancelled) {
  CampaignOptions options = options_for("reference", 1'000'000);
  int asked = 0;
  options.cancelled = [&asked] { return ++asked > 10; };
  const CampaignResult result = run(options);
  EXPECT_EQ(result.cases, 10);
  EXPECT_EQ(result.end, CampaignEnd::interrupted) << "the budget was not spent: that is not clean";
  EXPECT_TRUE(last_line(options, result).starts_with("interrupted: 10 cases, no finding"))
      << last_line(options, result);
}

TEST(Campaign, ThatIsCancelledWhenItsBudgetIsSpentIsClean) {
  CampaignOptions options = options_for("reference", 10);
  int asked = 0;
  options.cancelled = [&asked] { return ++asked > 10; };
  EXPECT_EQ(run(options).end, CampaignEnd::clean);
}

/// Hangs in its first case; meanwhile somebody interrupts, and no worker is started any more.
class InterruptedRunner final : public Runner {
 public:
  explicit InterruptedRunner(bool& interrupted) : interrupted_(interrupted) {}
  Result<Verdict> run(const Case&, SequenceStep) override {
    if (interrupted_) return Error{"interrupted before the worker came up"};
    interrupted_ = true;
    Verdict verdict;
    verdict.kind = VerdictKind::hang;
    return verdict;
  }
  [[nodiscard]] std::optional<std::string> broken() const override {
    return interrupted_ ? std::optional<std::string>("interrupted before the worker came up") : std::nullopt;
  }

 private:
  bool& interrupted_;
};

TEST(Campaign, ThatIsInterruptedKeepsTheFailureItHasAsWhatItIs) {
  CampaignOptions options = options_for("hangs", 100);
  bool interrupted = false;
  options.cancelled = [&interrupted] { return interrupted; };
  options.make_runner = [&](std::string_view subject) -> Result<std::unique_ptr<Runner>> {
    if (subject != "hangs") return local_runners()(subject);
    return std::unique_ptr<Runner>(std::make_unique<InterruptedRunner>(interrupted));
  };
  options.stop_after = 0;
  const CampaignResult result = run(options);
  EXPECT_EQ(result.end, CampaignEnd::findings) << result.environment;
  ASSERT_EQ(result.findings.size(), 1U);
  const Finding& finding = result.findings.front();
  EXPECT_EQ(finding.verdict.kind, VerdictKind::hang) << "not flaky: what was refused did not pass";
  EXPECT_EQ(finding.confirm_runs, 1);
  EXPECT_EQ(finding.failed_runs, 1);
  EXPECT_FALSE(finding.one_minimal);
}

TEST(Campaign, RefusesWhatCannotBe) {
  CampaignObserver silent;
  EXPECT_FALSE(run_campaign(options_for("no-such-subject", 10), silent).ok());
  EXPECT_FALSE(run_campaign(options_for("reference", 0), silent).ok());
  CampaignOptions options = options_for("reference", 10);
  options.seconds = 1;  // and no clock
  EXPECT_FALSE(run_campaign(options, silent).ok());
  options = options_for("reference", 10);
  options.generator.max_world_ranks = 1;
  EXPECT_FALSE(run_campaign(options, silent).ok());
}

TEST(Campaign, IsAnEnvironmentFailureWhenAKnownAnswerSurprises) {
  CampaignOptions options = options_for("reference", 10);
  options.executor.max_bytes = 1;  // not even the canary can run
  const CampaignResult result = run(options);
  EXPECT_EQ(result.end, CampaignEnd::environment);
  EXPECT_EQ(result.cases, 0);
  EXPECT_FALSE(result.environment.empty());
  EXPECT_NE(last_line(options, result).find("doctor"), std::string::npos);
}

TEST(Campaign, AsksForNoMoreRunnersWhenTheFirstOfThemSurprises) {
  CampaignOptions options = options_for("reference", 10);
  int asked = 0;
  options.make_runner = [&asked](std::string_view) -> Result<std::unique_ptr<Runner>> {
    ++asked;
    return Error{"no such launcher"};
  };
  const CampaignResult result = run(options);
  EXPECT_EQ(result.end, CampaignEnd::environment);
  EXPECT_NE(result.environment.find("no such launcher"), std::string::npos);
  EXPECT_EQ(asked, 1);
}

/// Counts what is reported, and in what order.
class Recorder final : public CampaignObserver {
 public:
  void on_start(const CampaignOptions&) override { events += "s"; }
  void on_case(std::int64_t index, const Sequence&, const SequenceVerdict&) override {
    EXPECT_EQ(index, cases);
    ++cases;
  }
  void on_failure(std::int64_t, const Sequence&, const SequenceVerdict&) override { events += "f"; }
  void on_best(const Sequence& value, const Verdict&) override { best = value; }
  void on_finding(const Finding& finding) override {
    events += "F";
    EXPECT_EQ(finding.minimal, best);
  }
  void on_end(const CampaignOptions&, const CampaignResult&) override { events += "e"; }

  std::string events;
  Sequence best;
  std::int64_t cases = 0;
};

TEST(Campaign, ReportsInOrderAndTheBestCaseAtEveryMoment) {
  Recorder recorder;
  const Result<CampaignResult> result = run_campaign(options_for("mutant:flat-chunk", 2'000), recorder);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(recorder.events, "sfFe");
  EXPECT_EQ(recorder.cases, result->cases);
}

TEST(Campaign, BeginsAndEndsWithTheLinesThatRepeatIt) {
  CampaignOptions options = options_for("mutant:flat-chunk", 2'000, 9);
  options.build = "test";
  for (const std::string_view part : {"seed 9", "2000 cases", "build test", "subject mutant:flat-chunk", "world sim"}) {
    EXPECT_NE(first_line(options).find(part), std::string::npos) << part;
  }
  const CampaignResult found = run(options);
  EXPECT_EQ(last_line(options, found).rfind("findings: ", 0), 0u);
  EXPECT_NE(last_line(options, found).find(replay_command(found.findings[0])), std::string::npos);
  options.subject = "reference";
  options.cases = 20;
  EXPECT_NE(last_line(options, run(options)).find("reshardcheck fuzz --subject reference --cases 20 --seed 9"),
            std::string::npos);
}

TEST(Campaign, WritesAFindingThatReplays) {
  std::string pattern = (std::filesystem::temp_directory_path() / "reshardcheck-campaign-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  CampaignOptions options = options_for("mutant:overrun", 2'000);
  options.out_directory = pattern;
  const CampaignResult result = run(options);
  ASSERT_EQ(result.findings.size(), 1u);
  const Result<std::vector<FileCase>> cases = read_cases(result.findings[0].file);
  ASSERT_TRUE(cases.ok());
  const Result<std::unique_ptr<Subject>> subject = make_subject("mutant:overrun");
  EXPECT_EQ(Executor().run(cases->front().value, **subject)->kind, VerdictKind::guard);
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace reshardcheck
