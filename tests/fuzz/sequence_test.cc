// Goal: state that outlives a case is searched, judged and shrunk like layouts are. Method: round trips of the text,
// the references on random sequences, and subjects whose every case is right by itself.
#include "fuzz/sequence.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "core/subject/registry.h"
#include "fuzz/campaign.h"
#include "tests/verifier/hand_subject.h"

namespace reshardcheck {
namespace {

Sequence parsed(std::string_view text) {
  const Result<Sequence> sequence = parse_sequence(text);
  EXPECT_TRUE(sequence.ok()) << text << ": " << sequence.error().reason;
  return *sequence;
}

Sequence drawn(std::uint64_t seed, const GeneratorOptions& options = {}) {
  RandomChoices choices{rc::Random(seed)};
  return draw_sequence(choices, options);
}

SequenceVerdict run(const Sequence& sequence, Subject& subject) {
  Executor executor;
  LocalRunner runner(executor, subject);
  const Result<SequenceVerdict> verdict = run_sequence(runner, sequence);
  EXPECT_TRUE(verdict.ok());
  return *verdict;
}

RC_GTEST_PROP(Sequence, ReadsBackAsItIsPrinted, (std::uint64_t seed)) {
  const Sequence sequence = drawn(seed);
  const Result<Sequence> again = parse_sequence(to_text(sequence));
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == sequence);
}

TEST(Sequence, OfOneStepIsACase) { EXPECT_EQ(parsed("u8[4] 1@0 R -> 1@1 R").steps.size(), 1u); }

TEST(Sequence, NamesThePlaceOfAnErrorInTheWholeLine) {
  const std::string first = "u8[4] 1@0 R -> 1@1 R >> ";
  const Result<Sequence> broken = parse_sequence(first + "u8[4] 1@0 X -> 1@1 R");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().position, first.size() + std::string_view("u8[4] 1@0 ").size());
  EXPECT_FALSE(parse_sequence("u8[4] 1@0 R -> 1@1 R >>").ok());
  EXPECT_FALSE(parse_sequence("").ok());
  const std::string accident = "u8[4] 1@0 R -> 1@1 R | faults=drop@0";
  EXPECT_FALSE(parse_sequence(accident + " >> " + accident).ok()) << "nothing of it would be judged";
  EXPECT_TRUE(parse_sequence(accident).ok()) << "a case by itself is";
  EXPECT_TRUE(parse_sequence(accident + " >> u8[4] 1@0 R -> 1@1 R").ok());
}

TEST(Sequence, PassesTheReferences) {
  for (const std::string name : {"reference", "reference:direct", "reference:gather_broadcast"}) {
    const Result<std::unique_ptr<Subject>> subject = make_subject(name);
    ASSERT_TRUE(subject.ok());
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
      const SequenceVerdict verdict = run(drawn(seed), **subject);
      EXPECT_FALSE(verdict.verdict.failed())
          << name << ", step " << verdict.step << " of " << to_text(drawn(seed)) << ": " << verdict.verdict.detail;
    }
  }
}

TEST(Sequence, ShowsStateThatNoCaseShows) {
  const Result<std::unique_ptr<Subject>> subject = make_subject("mutant:cache-shape");
  ASSERT_TRUE(subject.ok());
  EXPECT_FALSE(run(parsed("u8[4] 2@0 S(0) -> 1@2 R"), **subject).verdict.failed());
  EXPECT_FALSE(run(parsed("u8[6] 2@0 S(0) -> 1@2 R"), **subject).verdict.failed());
  const SequenceVerdict verdict = run(parsed("u8[4] 2@0 S(0) -> 1@2 R >> u8[6] 2@0 S(0) -> 1@2 R"), **subject);
  EXPECT_TRUE(verdict.verdict.failed());
  EXPECT_EQ(verdict.step, 1u);
}

/// Wrong from the third call of a session on; a case alone makes two.
HandHooks wrong_from_the_third_call() {
  HandHooks hooks;
  hooks.after = [](int call, Rank, const Batch& batch) {
    const LocalTensor& target = batch.tensors[0].target;
    if (call >= 2 && target.present()) target.data[0] ^= std::byte{1};
  };
  return hooks;
}

TEST(Sequence, GoesOnWithTheSameSessionsWhereTheWorldIsTheSame) {
  HandSubject subject(wrong_from_the_third_call());
  EXPECT_EQ(run(parsed("u8[4] 1@0 R -> 1@1 R"), subject).verdict.kind, VerdictKind::pass);
  const SequenceVerdict twice = run(parsed("u8[4] 1@0 R -> 1@1 R >> u8[3] 1@0 R -> 1@1 R"), subject);
  EXPECT_EQ(twice.verdict.kind, VerdictKind::mismatch);
  EXPECT_EQ(twice.step, 1u);
}

TEST(Sequence, OpensSessionsAnewWhenRanksJoinOrTheTransportChanges) {
  HandSubject subject(wrong_from_the_third_call());
  for (const std::string_view option : {"world=3", "domain=1", "chunk=2"}) {
    const std::string text = "u8[4] 1@0 R -> 1@1 R >> u8[4] 1@0 R -> 1@1 R | " + std::string(option);
    EXPECT_EQ(run(parsed(text), subject).verdict.kind, VerdictKind::pass) << text;
  }
  EXPECT_EQ(run(parsed("u8[4] 1@0 R -> 1@1 R"), subject).verdict.kind, VerdictKind::pass) << "a new sequence";
}

TEST(Sequence, DoesNotJudgeAnAccidentButWhatComesAfter) {
  const Result<std::unique_ptr<Subject>> reference = make_subject("reference");
  const std::string accident = "u8[4] 1@0 R -> 1@1 R | faults=drop@0";
  EXPECT_EQ(run(parsed(accident + " >> u8[4] 1@0 R -> 1@1 R"), **reference).verdict.kind, VerdictKind::pass);
  HandSubject wrong({.after = [](int, Rank, const Batch& batch) {
    const LocalTensor& target = batch.tensors[0].target;
    if (target.present()) target.data[0] ^= std::byte{1};
  }});
  const SequenceVerdict verdict = run(parsed(accident + " >> u8[4] 1@0 R -> 1@1 R"), wrong);
  EXPECT_TRUE(verdict.verdict.failed());
  EXPECT_EQ(verdict.step, 1u);
}

TEST(Sequence, HasTheReferencePassAfterEveryKindOfAccident) {
  const Result<std::unique_ptr<Subject>> reference = make_subject("reference");
  const std::string step = "u8[4] 2@0 S(0) -> 2@2 R";
  for (const std::string fault : {"drop@0", "duplicate@0", "truncate@0", "kill@0"}) {
    const SequenceVerdict verdict =
        run(parsed(step + " >> " + step + " | faults=" + fault + " >> " + step), **reference);
    EXPECT_EQ(verdict.verdict.kind, VerdictKind::pass) << fault << ": " << verdict.verdict.detail;
    EXPECT_EQ(verdict.step, 2u) << fault;
  }
}

TEST(Sequence, SeesASubjectThatDoesNotRecoverFromAnAccident) {
  HandSubject broken({.instead = [](int, Endpoint&, const Batch&) { return Outcome::error("still broken"); }});
  const SequenceVerdict verdict = run(parsed("u8[4] 1@0 R -> 1@1 R | faults=drop@0 >> u8[4] 1@0 R -> 1@1 R"), broken);
  EXPECT_EQ(verdict.verdict.kind, VerdictKind::error);
  EXPECT_EQ(verdict.step, 1u);
}

// ---- the search ------------------------------------------------------------------------------------------------

CampaignOptions search_of(const std::string& subject, std::int64_t sequences, std::uint64_t seed = 1) {
  CampaignOptions options;
  options.subject = subject;
  options.sequences = true;
  options.cases = sequences;
  options.seed = seed;
  return options;
}

CampaignResult searched(const CampaignOptions& options) {
  CampaignObserver silent;
  const Result<CampaignResult> result = run_campaign(options, silent);
  EXPECT_TRUE(result.ok()) << result.error().reason;
  return *result;
}

/// The sequence fails in its last step as the finding says, and no sequence without one of its steps fails.
void expect_shortest(const Finding& finding, Subject& subject) {
  EXPECT_TRUE(finding.one_minimal);
  const Sequence& minimal = finding.minimal;
  const SequenceVerdict verdict = run(minimal, subject);
  EXPECT_EQ(verdict.verdict.kind, finding.verdict.kind) << to_text(minimal);
  EXPECT_EQ(verdict.step + 1, minimal.steps.size()) << to_text(minimal);
  for (std::size_t i = 0; minimal.steps.size() > 1 && i < minimal.steps.size(); ++i) {
    Sequence shorter = minimal;
    shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(run(shorter, subject).verdict.failed()) << to_text(shorter);
  }
}

TEST(SequenceSearch, FindsStateThatOutlivesACaseAndEndsInTheShortestSequence) {
  for (const std::string name : {"mutant:cache-shape", "mutant:cache-placement"}) {
    const Result<std::unique_ptr<Subject>> subject = make_subject(name);
    ASSERT_TRUE(subject.ok());
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      CampaignOptions options = search_of(name, 500, seed);
      options.generator.max_tensors = 1;
      const CampaignResult result = searched(options);
      ASSERT_EQ(result.findings.size(), 1u) << name << " seed " << seed;
      EXPECT_LE(result.findings[0].minimal.steps.size(), 2u) << to_text(result.findings[0].minimal);
      expect_shortest(result.findings[0], **subject);
    }
  }
}

/// Right for two cases; from the third on that it gets in a row, whatever they are, the first byte is wrong.
class WrongFromTheThirdCase final : public HandSubject {
 public:
  WrongFromTheThirdCase() : HandSubject({.after = [this](int, Rank, const Batch& batch) { deliver_wrong(batch); }}) {}
  void begin_case() override {  // the first of a sequence
    HandSubject::begin_case();
    cases_ = 1;
  }
  [[nodiscard]] std::optional<std::string> unsupported(const Case&) const override {  // asked for each case
    ++cases_;
    return std::nullopt;
  }

 private:
  void deliver_wrong(const Batch& batch) const {
    const LocalTensor& target = batch.tensors[0].target;
    if (cases_ >= 3 && target.present()) target.data[0] ^= std::byte{1};
  }
  mutable int cases_ = 0;
};

TEST(SequenceSearch, ShrinksABugThatNeedsThreeStepsToThree) {
  CampaignOptions options = search_of("own", 2'000);
  WrongFromTheThirdCase subject;
  Executor executor;
  options.make_runner = [&](std::string_view name) -> Result<std::unique_ptr<Runner>> {
    if (name != "own") return local_runners()(name);  // the known answers that a campaign begins with
    return std::unique_ptr<Runner>(std::make_unique<LocalRunner>(executor, subject));
  };
  const CampaignResult result = searched(options);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].minimal.steps.size(), 3u) << to_text(result.findings[0].minimal);
  expect_shortest(result.findings[0], subject);
}

TEST(SequenceSearch, RepeatsItselfAndNeedsNoSequenceForACaseThatIsWrongByItself) {
  const CampaignResult once = searched(search_of("mutant:flat-chunk", 500));
  const CampaignResult again = searched(search_of("mutant:flat-chunk", 500));
  EXPECT_EQ(once.digest, again.digest);
  ASSERT_EQ(once.findings.size(), 1u);
  ASSERT_EQ(again.findings.size(), 1u);
  EXPECT_EQ(finding_text(once.findings[0]), finding_text(again.findings[0]));
  EXPECT_EQ(once.findings[0].minimal.steps.size(), 1u) << to_text(once.findings[0].minimal);
}

TEST(SequenceSearch, PassesTheReference) {
  const CampaignResult result = searched(search_of("reference", 300));
  EXPECT_EQ(result.end, CampaignEnd::clean);
  EXPECT_EQ(result.verdicts[static_cast<std::size_t>(VerdictKind::pass)], 300);
}

TEST(SequenceSearch, GoesOnAfterAFindingAndMergesThoseOfOneBucket) {
  CampaignOptions options = search_of("mutant:cache-shape", 150);
  options.stop_after = 0;
  const CampaignResult result = searched(options);
  EXPECT_EQ(result.cases, 150);
  EXPECT_EQ(result.end, CampaignEnd::findings);
  std::set<std::string> buckets;
  std::int64_t duplicates = 0;
  for (const Finding& finding : result.findings) {
    EXPECT_TRUE(buckets.insert(finding.bucket).second) << finding.bucket;
    duplicates += finding.duplicates;
  }
  EXPECT_GT(duplicates, 0);
}

TEST(SequenceSearch, BeginsAndEndsWithTheLinesThatRepeatIt) {
  const CampaignOptions options = search_of("reference", 20, 9);
  EXPECT_NE(first_line(options).find("20 sequences"), std::string::npos) << first_line(options);
  const std::string last = last_line(options, searched(options));
  EXPECT_NE(last.find("reshardcheck fuzz --sequences --subject reference --cases 20 --seed 9"), std::string::npos)
      << last;
}

}  // namespace
}  // namespace reshardcheck
