// Goal: state that outlives a case is searched, judged and shrunk like layouts are. Method: round trips of the text,
// the references on random sequences, and subjects whose every case is right by itself.
#include "fuzz/sequence.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>

#include "core/subject/registry.h"
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

TEST(SequenceSearch, FindsStateThatOutlivesACaseAndEndsInTheShortestSequence) {
  Executor executor;
  for (const std::string name : {"mutant:cache-shape", "mutant:cache-placement"}) {
    const Result<std::unique_ptr<Subject>> subject = make_subject(name);
    ASSERT_TRUE(subject.ok());
    LocalRunner runner(executor, **subject);
    SequenceSearchOptions options;
    options.sequences = 500;
    options.generator.max_tensors = 1;
    for (options.seed = 1; options.seed <= 5; ++options.seed) {
      const SequenceSearchResult result = search_sequences(options, runner);
      ASSERT_TRUE(result.finding) << name << " seed " << options.seed;
      const SequenceShrinkResult& shrunk = result.finding->shrunk;
      EXPECT_TRUE(shrunk.one_minimal);
      EXPECT_LE(shrunk.minimal.steps.size(), 2u) << to_text(shrunk.minimal);
      const SequenceVerdict verdict = run(shrunk.minimal, **subject);
      EXPECT_EQ(verdict.verdict.kind, shrunk.verdict.kind);
      EXPECT_EQ(verdict.step + 1, shrunk.minimal.steps.size());
      for (std::size_t i = 0; shrunk.minimal.steps.size() > 1 && i < shrunk.minimal.steps.size(); ++i) {
        Sequence shorter = shrunk.minimal;
        shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(run(shorter, **subject).verdict.failed()) << to_text(shorter);
      }
    }
  }
}

TEST(SequenceSearch, RepeatsItselfAndPassesTheReference) {
  Executor executor;
  SequenceSearchOptions options;
  options.sequences = 50;
  const Result<std::unique_ptr<Subject>> reference = make_subject("reference");
  LocalRunner right(executor, **reference);
  EXPECT_FALSE(search_sequences(options, right).finding);
  const Result<std::unique_ptr<Subject>> mutant = make_subject("mutant:flat-chunk");
  LocalRunner wrong(executor, **mutant);
  options.sequences = 500;
  const SequenceSearchResult once = search_sequences(options, wrong);
  const SequenceSearchResult again = search_sequences(options, wrong);
  ASSERT_TRUE(once.finding && again.finding);
  EXPECT_EQ(finding_text(*once.finding, "mutant:flat-chunk", 0), finding_text(*again.finding, "mutant:flat-chunk", 0));
  EXPECT_EQ(once.finding->shrunk.minimal.steps.size(), 1u) << "a case that is wrong by itself needs no other";
}

TEST(SequenceFinding, IsALineOfACaseFileWithItsHistoryAsComments) {
  Executor executor;
  const Result<std::unique_ptr<Subject>> mutant = make_subject("mutant:flat-chunk");
  LocalRunner wrong(executor, **mutant);
  SequenceSearchOptions options;
  options.sequences = 500;
  const SequenceSearchResult result = search_sequences(options, wrong);
  ASSERT_TRUE(result.finding);
  std::string text = finding_text(*result.finding, "mutant:flat-chunk", 0);
  while (text.starts_with('#')) text.erase(0, text.find('\n') + 1);
  ASSERT_TRUE(text.ends_with('\n'));
  text.pop_back();
  EXPECT_EQ(parsed(text), result.finding->shrunk.minimal);
}

}  // namespace
}  // namespace reshardcheck
