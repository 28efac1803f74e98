// Goal: under faults nothing passes with wrong data, and a campaign says how faulted cases ended without taking what a
// fault explains for a finding. Method: campaigns whose cases are looked at a second time by a witness that shares
// nothing with the judge; runners that say what no honest one would.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "fuzz/campaign.h"
#include "fuzz/fault_drawer.h"
#include "tests/fuzz/witness.h"

namespace reshardcheck {
namespace {

/// What came of the faulted cases of a campaign, as the witness saw it.
struct Seen {
  std::int64_t passes = 0;
  std::int64_t unwatched_passes = 0;  // in which some rank never came back
  std::int64_t wrong_passes = 0;
  std::string example;
};

class WatchedRunner final : public Runner {
 public:
  WatchedRunner(std::unique_ptr<Subject> subject, Seen& seen) : witness_(std::move(subject)), seen_(seen) {}
  Result<Verdict> run(const Case& value, SequenceStep step) override {
    Result<Verdict> verdict = executor_.run(value, witness_, step);
    if (!verdict || verdict->kind != VerdictKind::pass || value.options.faults.empty()) return verdict;
    ++seen_.passes;
    if (witness_.whole_calls == 0) ++seen_.unwatched_passes;
    if (witness_.wrong_elements > 0) ++seen_.wrong_passes;
    if (witness_.whole_calls == 0 || witness_.wrong_elements > 0) seen_.example = to_text(value);
    return verdict;
  }

 private:
  Executor executor_;
  Witness witness_;
  Seen& seen_;
};

MakeRunner watched_runners(Seen& seen) {
  return [&seen](std::string_view name) -> Result<std::unique_ptr<Runner>> {
    Result<std::unique_ptr<Subject>> subject = make_subject(name);
    if (!subject) return subject.error();
    return std::unique_ptr<Runner>(std::make_unique<WatchedRunner>(*std::move(subject), seen));
  };
}

/// A longer run than a test's: RESHARDCHECK_FAULTED_CASES=100000.
std::int64_t faulted_cases() {
  const char* const text = std::getenv("RESHARDCHECK_FAULTED_CASES");
  return text == nullptr ? 5'000 : std::atoll(text);
}

CampaignOptions faulted_campaign(std::string subject, std::int64_t cases, std::uint64_t seed) {
  CampaignOptions options;
  options.subject = std::move(subject);
  options.cases = cases;
  options.seed = seed;
  options.stop_after = 0;
  options.fault_percent = 100;
  return options;
}

std::int64_t total_cases(const std::array<std::int64_t, verdict_kinds>& verdicts) {
  std::int64_t sum = 0;
  for (const std::int64_t cases : verdicts) sum += cases;
  return sum;
}

CampaignResult run_faulted(const CampaignOptions& options) {
  CampaignObserver silent;
  const Result<CampaignResult> result = run_campaign(options, silent);
  EXPECT_TRUE(result.ok()) << result.error().reason;
  return *result;
}

TEST(FaultCampaign, NeverPassesWrongDataByTheWordOfAWitnessThatKnowsNoFill) {
  for (const std::string_view subject : {"reference", "reference:direct"}) {
    Seen seen;
    CampaignOptions options = faulted_campaign(std::string(subject), faulted_cases() / 2, 31);
    options.make_runner = watched_runners(seen);
    const CampaignResult result = run_faulted(options);
    EXPECT_EQ(result.end, CampaignEnd::clean) << subject;
    EXPECT_EQ(seen.wrong_passes, 0) << seen.example;
    EXPECT_EQ(seen.unwatched_passes, 0) << seen.example;
    EXPECT_EQ(total_cases(result.faulted) + result.skipped, options.cases);
    EXPECT_EQ(total_cases(result.verdicts), 0);
    // Faults that strike nothing, or nothing that matters, and faults that do: both are common.
    EXPECT_EQ(seen.passes, result.faulted[static_cast<std::size_t>(VerdictKind::pass)]);
    EXPECT_GT(seen.passes, options.cases / 10);
    EXPECT_LT(seen.passes, options.cases * 9 / 10);
    RecordProperty(std::string(subject), fault_table(result));
  }
}

TEST(Witness, SeesWrongDataOfEverySubjectThatDeliversIt) {
  const Result<Case> value = parse_case("u8[5] 2x2@0 S(0),S(0) -> 1@4 R");
  ASSERT_TRUE(value.ok());
  for (const std::string_view name : {"mutant:flat-chunk", "reference"}) {
    Result<std::unique_ptr<Subject>> subject = make_subject(name);
    ASSERT_TRUE(subject.ok());
    Witness witness(*std::move(subject));
    Executor executor;
    const Result<Verdict> verdict = executor.run(*value, witness);
    ASSERT_TRUE(verdict.ok());
    EXPECT_EQ(verdict->failed(), witness.wrong_elements > 0) << name;
    EXPECT_EQ(verdict->failed(), name != "reference") << name;
    EXPECT_GT(witness.whole_calls, 0) << name;
  }
}

TEST(FaultCampaign, CorruptionIsSeenWheneverAMessageIsHit) {
  const Result<Case> value = parse_case("u8[6] 2@0 S(0) -> 3@2 S(0) | faults=corrupt@0");
  ASSERT_TRUE(value.ok());
  Executor executor;
  Result<std::unique_ptr<Subject>> subject = make_subject("reference");
  ASSERT_TRUE(subject.ok());
  const Result<Verdict> verdict = executor.run(*value, **subject);
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->kind, VerdictKind::mismatch);
  EXPECT_FALSE(would_pass_wrong_data(*verdict));  // the definition saw it
}

/// Passes what has no faults. With faults it says `faulted`.
class TellingRunner final : public Runner {
 public:
  TellingRunner(Verdict faulted, bool known_mutant) : faulted_(std::move(faulted)), known_mutant_(known_mutant) {}
  Result<Verdict> run(const Case& value, SequenceStep) override {
    if (!value.options.faults.empty()) return faulted_;
    Verdict verdict;
    if (known_mutant_) verdict.kind = VerdictKind::mismatch;
    return verdict;
  }

 private:
  Verdict faulted_;
  bool known_mutant_;
};

MakeRunner telling_runners(const Verdict& faulted) {
  return [faulted](std::string_view name) -> Result<std::unique_ptr<Runner>> {
    return std::unique_ptr<Runner>(std::make_unique<TellingRunner>(faulted, name.starts_with("mutant:")));
  };
}

TEST(FaultCampaign, WhatAFaultExplainsIsCountedAndNoFinding) {
  for (const VerdictKind kind : {VerdictKind::hang, VerdictKind::error, VerdictKind::mismatch, VerdictKind::crash}) {
    Verdict verdict;
    verdict.kind = kind;
    verdict.oracle = kind == VerdictKind::mismatch ? "definition" : "world";
    CampaignOptions options = faulted_campaign("reference", 50, 1);
    options.make_runner = telling_runners(verdict);
    const CampaignResult result = run_faulted(options);
    EXPECT_EQ(result.end, CampaignEnd::clean);
    EXPECT_EQ(result.faulted[static_cast<std::size_t>(kind)], 50);
    EXPECT_EQ(end_json(options, result)["faulted"][std::string(name(kind))], 50);
    EXPECT_NE(fault_table(result).find(name(kind)), std::string::npos);
  }
}

TEST(FaultCampaign, DataThatOnlyAnotherOracleFindsWrongIsAFindingWhoseMinimalCaseKeepsAFault) {
  for (const std::string_view oracle : {"naive", "gather_broadcast", "fingerprint"}) {
    Verdict verdict;
    verdict.kind = VerdictKind::mismatch;
    verdict.oracle = oracle;
    CampaignOptions options = faulted_campaign("reference", 20, 1);
    options.make_runner = telling_runners(verdict);
    const CampaignResult result = run_faulted(options);
    EXPECT_EQ(result.end, CampaignEnd::findings);
    ASSERT_FALSE(result.findings.empty());
    EXPECT_EQ(result.findings.front().minimal.steps.at(0).options.faults.size(), 1U);
    EXPECT_NE(last_line(options, result).find("faults="), std::string::npos) << last_line(options, result);
  }
}

TEST(FaultCampaign, LeavesTheCasesWithoutFaultsAsTheyAre) {
  CampaignOptions options = faulted_campaign("reference", 400, 9);
  options.fault_percent = 50;
  const CampaignResult result = run_faulted(options);
  EXPECT_EQ(result.end, CampaignEnd::clean);
  EXPECT_GT(total_cases(result.faulted), 100);
  EXPECT_EQ(result.verdicts[static_cast<std::size_t>(VerdictKind::pass)], total_cases(result.verdicts));
  EXPECT_GT(total_cases(result.verdicts), 100);
  EXPECT_EQ(run_faulted(options).digest, result.digest);
  EXPECT_TRUE(fault_table(run_faulted(faulted_campaign("reference", 1, 1))).size() > 0);
  options.fault_percent = 0;
  EXPECT_EQ(fault_table(run_faulted(options)), "");
}

TEST(FaultDrawer, DrawsEveryKindInNumbersThatTheNotationHolds) {
  Result<Case> value = parse_case("u8[4] 2@0 S(0) -> 2@2 S(0)");
  ASSERT_TRUE(value.ok());
  std::set<FaultKind> kinds;
  rc::Random random(1);
  for (int i = 0; i < 500; ++i) {
    RandomChoices choices(random.split());
    value->options.faults = draw_faults(choices, *value);
    ASSERT_GE(value->options.faults.size(), 1U);
    ASSERT_LE(value->options.faults.size(), 2U);
    for (const Fault& fault : value->options.faults) kinds.insert(fault.kind);
    const Result<Case> again = parse_case(to_text(*value));
    ASSERT_TRUE(again.ok()) << again.error().reason;
    EXPECT_EQ(*again, *value);
  }
  EXPECT_EQ(kinds.size(), 7U);
}

}  // namespace
}  // namespace reshardcheck
