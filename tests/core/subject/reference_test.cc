// The reference delivers on every case, with every planner, and so does every mutant where its bug cannot show.
#include "core/subject/reference.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/layout/notation.h"
#include "core/plan/prover.h"
#include "core/subject/registry.h"
#include "tests/core/plan/generated_layouts.h"
#include "tests/core/subject/case_run.h"

namespace reshardcheck {
namespace {

constexpr std::string_view references[] = {"reference", "reference:direct", "reference:gather_broadcast"};

/// A batch of tensors over random layouts, with all that a call can meet.
Case generated_case() {
  Case value;
  for (std::int64_t tensors = generated::number(1, 3); tensors > 0; --tensors) {
    const LayoutPair pair = *layout_pairs();
    TensorCase tensor{"", all_dtypes[static_cast<std::size_t>(generated::number(0, std::ssize(all_dtypes) - 1))],
                      generated::number(0, 3) == 0 ? Path::gather_broadcast : Path::reshard, pair.source, pair.target};
    value.tensors.push_back(std::move(tensor));
    value.options.domain_ranks = pair.topology.domain_ranks;
    value.options.domain_anchor = pair.topology.anchor;
  }
  value.options.gap_elements = generated::number(0, 2);
  value.options.chunk_bytes = generated::number(0, 5);
  value.options.batch_tensors = generated::number(0, std::ssize(value.tensors));
  return value;
}

RC_GTEST_PROP(Reference, DeliversEveryElementAndTouchesNothingElse, ()) {
  const Case value = generated_case();
  CaseRun run;
  run.seed = static_cast<std::uint64_t>(generated::number(0, 1000));
  for (const std::string_view name : references) {
    const std::string finding = run.run(value, *subject_of(name));
    if (finding != "pass") RC_LOG() << name << ": " << to_text(value);
    RC_ASSERT(finding == "pass");
  }
}

RC_GTEST_PROP(Reference, ExecutesThePlanThatItShows, ()) {
  const Case value = generated_case();
  const SessionOptions options{Topology::of(value.options), 0};
  for (const std::string_view name : references) {
    const auto subject = subject_of(name);
    for (const TensorCase& tensor : value.tensors) {
      const std::optional<Plan> plan = subject->plan(tensor, options);
      RC_ASSERT(plan.has_value());
      RC_ASSERT(prove(*plan, tensor.source, tensor.target, options.topology).holds());
    }
  }
}

/// The verdicts that a finding of the harness may stand for.
std::vector<std::string_view> verdicts_of(std::string_view finding) {
  if (finding == "wrong") return {"mismatch", "unwritten", "stale", "flaky"};
  if (finding == "refused") return {"valid_rejected"};
  return {finding};
}

RC_GTEST_PROP(Mutants, ShowNothingButTheVerdictsTheyNameAndStayInsideTheGuardBands, ()) {
  // The guard bands of the harness are all there is around a tensor; a sanitizer sees what lies beyond them.
  const Case value = generated_case();
  const std::vector<SubjectInfo> catalogue = subject_catalogue();
  const auto& info = catalogue[static_cast<std::size_t>(generated::number(0, std::ssize(catalogue) - 1))];
  const std::string finding = CaseRun{}.run(value, *subject_of(info.name));
  const std::vector<std::string_view> verdicts = verdicts_of(finding);
  const bool named = std::any_of(verdicts.begin(), verdicts.end(), [&](std::string_view verdict) {
    return info.expected.find(verdict) != std::string::npos;
  });
  if (finding != "pass" && !named) RC_LOG() << info.name << " shows " << finding << " on " << to_text(value);
  RC_ASSERT(finding == "pass" || named);
}

TEST(Reference, OnlyThePlannerThatAvoidsItPromisesMinimalTraffic) {
  EXPECT_TRUE(subject_of("reference")->promises_minimal_traffic());
  EXPECT_TRUE(subject_of("reference:replica_aware")->promises_minimal_traffic());
  EXPECT_FALSE(subject_of("reference:direct")->promises_minimal_traffic());
  EXPECT_FALSE(subject_of("reference:gather_broadcast")->promises_minimal_traffic());
}

TEST(Reference, OneSubjectServesManyCasesAndLayoutsThatChange) {
  const auto subject = subject_of("reference");
  for (const std::string_view text :
       {"u8[8] 2@0 S(0) -> 2@2 R", "u8[8] 2@0 S(0) -> 2@2 S(0)", "u8[9] 2@0 S(0) -> 2@2 R", "u8[8] 2@0 R -> 2@2 S(0)",
        "u8[8] 2@0 S(0) -> 2@2 R"}) {
    EXPECT_EQ(CaseRun{}.run(case_of(text), *subject), "pass") << text;
  }
}

TEST(PlanCache, AnswersEqualGeometriesWithOnePlanAndOthersWithTheirOwn) {
  PlanCache cache;
  int made = 0;
  const auto ask = [&](const TensorCase& tensor) {
    return cache.find_or_make(tensor, tensor.target.mesh().highest_rank() + 1, [&] {
      ++made;
      return make_plan(PlannerKind::direct, tensor.source, tensor.target, {});
    });
  };
  const Case first = case_of("u8[8] 2@0 S(0) -> 2@2 R ; f32[8] 2@0 S(0) -> 2@2 R");
  const Case again = case_of("u8[8] 2@0 S(0) -> 2@2 R");
  const Case other = case_of("u8[8] 2@0 S(0) -> 2@2 S(0) ; u8[9] 2@0 S(0) -> 2@2 R");
  const auto plan = ask(first.tensors[0]);
  EXPECT_EQ(ask(first.tensors[1]), plan);  // another dtype
  EXPECT_EQ(ask(again.tensors[0]), plan);  // an equal layout that is another object
  EXPECT_EQ(made, 1);
  EXPECT_NE(ask(other.tensors[0]), plan);
  EXPECT_NE(ask(other.tensors[1]), plan);
  EXPECT_EQ(made, 3);
  cache.clear();
  EXPECT_NE(ask(first.tensors[0]), plan);
}

}  // namespace
}  // namespace reshardcheck
