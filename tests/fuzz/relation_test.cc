// Goal: what follows from a case is valid and true, so that the reference passes it, and a subject that contradicts
// itself fails it. Method: properties over generated cases; for every relation a mutant that passes a base case and
// fails what follows from it.
#include "fuzz/relation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "fuzz/campaign.h"
#include "fuzz/generator.h"
#include "tests/verifier/hand_subject.h"
#include "verifier/executor.h"

namespace reshardcheck {
namespace {

RandomChoices choices_of(std::uint64_t seed) { return RandomChoices(rc::Random(seed)); }

Case related_case(std::string_view text) {
  const Result<Case> value = parse_case(text);
  EXPECT_TRUE(value.ok()) << text << ": " << value.error().reason;
  return *value;
}

/// What a rank holds of a tensor side: the intervals of each dim, or nothing when it is not in the mesh.
std::string holding(const Layout& layout, Rank rank) {
  const std::optional<std::size_t> index = layout.mesh().index_of(rank);
  if (!index) return "nothing";
  std::string text;
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) text += layout.piece(*index, dim).owned.text() + " ";
  return text;
}

RC_GTEST_PROP(Relation, DerivesValidCasesThatAreNotTheCaseItself, ()) {
  const Case value = *case_generator();
  RandomChoices choices = choices_of(*rc::gen::arbitrary<std::uint64_t>());
  for (const RelatedCase& related : related_cases(value, choices)) {
    RC_ASSERT(validate(related.value).ok());
    RC_ASSERT(!(related.value == value));
    const Result<Case> again = parse_case(to_text(related.value));
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == related.value);
  }
}

RC_GTEST_PROP(Relation, ThatExchangesAxesLeavesEveryRankWithWhatItHeld, ()) {
  const Case value = *case_generator();
  RandomChoices choices = choices_of(*rc::gen::arbitrary<std::uint64_t>());
  for (const RelatedCase& related : related_cases(value, Relation::permuted_axes, choices)) {
    for (std::size_t i = 0; i < value.tensors.size(); ++i) {
      for (Rank rank = 0; rank < value.world_ranks(); ++rank) {
        RC_ASSERT(holding(related.value.tensors[i].source, rank) == holding(value.tensors[i].source, rank));
        RC_ASSERT(holding(related.value.tensors[i].target, rank) == holding(value.tensors[i].target, rank));
      }
    }
  }
}

RC_GTEST_PROP(Relation, ThatChangesElementWidthsKeepsTheBytes, ()) {
  const Case value = *case_generator();
  RandomChoices choices = choices_of(*rc::gen::arbitrary<std::uint64_t>());
  for (const Relation relation : {Relation::bytes_of_elements, Relation::elements_of_bytes}) {
    for (const RelatedCase& related : related_cases(value, relation, choices)) {
      for (std::size_t i = 0; i < value.tensors.size(); ++i) {
        const TensorCase& before = value.tensors[i];
        const TensorCase& after = related.value.tensors[i];
        RC_ASSERT(elements(after.shape()) * width_bytes(after.dtype) ==
                  elements(before.shape()) * width_bytes(before.dtype));
      }
    }
  }
}

TEST(Relation, EveryOneAppliesToManyCases) {
  std::map<Relation, int> applied;
  GeneratorOptions options;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomChoices choices = choices_of(seed);
    const Case value = generate_case(choices, options);
    for (const Relation relation : all_relations) {
      const std::vector<RelatedCase> related = related_cases(value, relation, choices);
      EXPECT_LE(related.size(), 2u);
      applied[relation] += related.empty() ? 0 : 1;
    }
  }
  for (const Relation relation : all_relations) {
    EXPECT_GT(applied[relation], relation == Relation::elements_of_bytes ? 3 : 40) << name(relation);
  }
}

TEST(Relation, SaysNothingAboutACaseWithFaults) {
  RandomChoices choices = choices_of(1);
  EXPECT_TRUE(related_cases(related_case("u8[6,4] 2@0 S(0) -> 2@2 S(1) | faults=drop@0"), choices).empty());
}

TEST(Relation, HoldsForTheReferences) {
  for (const std::string subject_name : {"reference", "reference:direct", "reference:gather_broadcast"}) {
    const Result<std::unique_ptr<Subject>> subject = make_subject(subject_name);
    ASSERT_TRUE(subject.ok());
    Executor executor;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      RandomChoices choices = choices_of(seed);
      const Case value = generate_case(choices, {});
      for (const RelatedCase& related : related_cases(value, choices)) {
        const Result<Verdict> verdict = executor.run(related.value, **subject);
        ASSERT_TRUE(verdict.ok());
        EXPECT_EQ(verdict->kind, VerdictKind::pass)
            << subject_name << ", " << name(related.relation) << " of " << to_text(value) << "\n is "
            << to_text(related.value) << ": " << verdict->detail;
      }
    }
  }
}

/// True when some case that follows from the base fails.
bool breaks(Subject& subject, const Case& base, Relation relation) {
  Executor executor;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomChoices choices = choices_of(seed);
    for (const RelatedCase& related : related_cases(base, relation, choices)) {
      if (executor.run(related.value, subject)->failed()) return true;
    }
  }
  return false;
}

/// A subject that passes a case and fails what follows from it.
struct Contradiction {
  Relation relation;
  std::string_view subject;
  std::string_view base;
};
constexpr Contradiction contradictions[] = {
    {Relation::to_itself, "mutant:idle-rank", "u8[2] 1@0 R -> 1@1 R | world=2"},
    {Relation::and_back, "mutant:replica-starved", "u8[4] 2@0 R -> 1@2 R"},
    {Relation::by_way, "mutant:replica-starved", "u8[4] 2@0 S(0) -> 2@2 S(0)"},
    {Relation::relabelled_ranks, "mutant:rank-arithmetic", "u8[6] 2@0 S(0) -> 1@2 R"},
    {Relation::permuted_axes, "mutant:rank-arithmetic", "u8[6,4] 2x2@0 S(0),S(1) -> 1@4 R"},
    {Relation::another_order, "mutant:bucket-edge", "u8[2] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R | refits=2"},
    {Relation::bytes_of_elements, "mutant:transpose-square", "u16[2] 1@0 R -> 1@1 R"},
    {Relation::elements_of_bytes, "mutant:nan-canonical", "u8[9,2] 1@0 R -> 1@1 R | fill=special"},
    {Relation::transport, "mutant:chunk-tail", "u8[6] 1@0 R -> 1@1 R | chunk=6"},
};

TEST(Relation, EachOneIsBrokenBySomeSubjectThatPassesTheCaseItself) {
  Executor executor;
  for (const Contradiction& each : contradictions) {
    const Result<std::unique_ptr<Subject>> subject = make_subject(each.subject);
    ASSERT_TRUE(subject.ok());
    const Case base = related_case(each.base);
    EXPECT_EQ(executor.run(base, **subject)->kind, VerdictKind::pass) << each.subject << " on " << each.base;
    EXPECT_TRUE(breaks(**subject, base, each.relation))
        << name(each.relation) << " of " << each.base << " holds for " << each.subject;
  }
}

TEST(Relation, ThatTakesOneTensorAloneIsBrokenByASubjectThatIsWrongInSmallBatches) {
  HandHooks hooks;
  hooks.after = [](int, Rank, const Batch& batch) {
    const LocalTensor& target = batch.tensors[0].target;
    if (batch.tensors.size() == 1 && target.present()) target.data[0] ^= std::byte{1};
  };
  HandSubject subject(hooks);
  const Case base = related_case("u8[3] 1@0 R -> 1@1 R ; u8[3] 1@0 R -> 1@1 R");
  EXPECT_EQ(Executor().run(base, subject)->kind, VerdictKind::pass);
  EXPECT_TRUE(breaks(subject, base, Relation::one_alone));
}

/// The reference, but rank 0 first tells rank 1 something in every call.
class ChattySubject : public Subject {
 public:
  [[nodiscard]] std::string_view name() const override { return "chatty"; }
  [[nodiscard]] bool promises_minimal_traffic() const override { return true; }
  void begin_case() override { reference_->begin_case(); }
  std::unique_ptr<Session> open(Endpoint& endpoint, const SessionOptions& options) override {
    return std::make_unique<ChattySession>(reference_->open(endpoint, options));
  }

 private:
  class ChattySession : public Session {
   public:
    explicit ChattySession(std::unique_ptr<Session> session) : session_(std::move(session)) {}
    Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
      std::byte byte{};
      if (endpoint.rank() == 0) (void)endpoint.send(1, {&byte, 1});
      if (endpoint.rank() == 1) (void)endpoint.receive(0, {&byte, 1});
      return session_->reshard(endpoint, batch);
    }

   private:
    std::unique_ptr<Session> session_;
  };

  std::unique_ptr<Subject> reference_ = *make_subject("reference");
};

TEST(Relation, ToItselfIsBrokenByBytesThatMoveNeedlessly) {
  ChattySubject subject;
  const Case base = related_case("u8[4] 2@0 S(0) -> 2@0 R");
  EXPECT_EQ(Executor().run(base, subject)->kind, VerdictKind::pass);
  EXPECT_TRUE(breaks(subject, base, Relation::to_itself));
  const Verdict verdict = *Executor().run(related_case("u8[4] 2@0 S(0) -> 2@0 S(0)"), subject);
  EXPECT_EQ(verdict.kind, VerdictKind::excess_traffic);
  EXPECT_NE(verdict.detail.find("1 bytes moved"), std::string::npos) << verdict.detail;
}

TEST(Relation, IsNamedByTheVerdictOnADerivedCase) {
  Verdict verdict;
  verdict.kind = VerdictKind::mismatch;
  verdict.detail = "wrong";
  verdict.oracle = "definition";
  const Verdict related = relation_verdict(Relation::and_back, verdict);
  EXPECT_EQ(related.oracle, "relation:and_back");
  EXPECT_EQ(related.detail, "the case passes, but the way back does not: wrong");
  EXPECT_EQ(related.kind, VerdictKind::mismatch);
}

CampaignResult campaign(const std::string& subject, std::int64_t cases, std::uint64_t seed) {
  CampaignOptions options;
  options.subject = subject;
  options.cases = cases;
  options.seed = seed;
  options.relations = true;
  CampaignObserver silent;
  const Result<CampaignResult> result = run_campaign(options, silent);
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(CampaignWithRelations, PassesTheReferencesAndRepeatsItself) {
  for (const std::string subject : {"reference", "reference:direct", "reference:gather_broadcast"}) {
    const CampaignResult once = campaign(subject, 400, 3);
    EXPECT_EQ(once.end, CampaignEnd::clean) << subject;
    EXPECT_EQ(once.cases, 400);
    EXPECT_EQ(campaign(subject, 400, 3).digest, once.digest);
  }
}

TEST(CampaignWithRelations, FindsABugInWhatFollowsFromACaseThatPasses) {
  int by_relation = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const CampaignResult result = campaign("mutant:rank-arithmetic", 500, seed);
    ASSERT_EQ(result.findings.size(), 1u);
    if (!names_relation(result.findings[0].original_verdict.verdict)) continue;
    ++by_relation;
    EXPECT_TRUE(names_relation(result.findings[0].verdict));
    EXPECT_TRUE(result.findings[0].one_minimal);
    const Result<std::unique_ptr<Subject>> subject = make_subject("mutant:rank-arithmetic");
    EXPECT_TRUE(Executor().run(result.findings[0].minimal.steps.front(), **subject)->failed());
  }
  EXPECT_GT(by_relation, 0);
}

}  // namespace
}  // namespace reshardcheck
