// Goal: every seeded bug is found, minimised and small; the upstream rule is blind where it must be and sees what it
// can. Method: the whole catalogue with a few seeds; hand-picked cases for the rule.
#include "fuzz/power.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "core/world/sim.h"
#include "fuzz/upstream_rule.h"
#include "verifier/executor.h"

namespace reshardcheck {
namespace {

std::vector<std::string> mutants() {
  std::vector<std::string> names;
  for (const SubjectInfo& info : subject_catalogue()) {
    if (info.name.starts_with("mutant:")) names.push_back(info.name);
  }
  return names;
}

class EveryMutant : public testing::TestWithParam<std::string> {};

TEST_P(EveryMutant, IsKilledWithinTwoThousandCasesAndEndsOneMinimal) {
  PowerOptions options;
  options.subject = GetParam();
  options.seeds = 2;
  const Result<PowerScore> score = measure_power(options);
  ASSERT_TRUE(score.ok()) << score.error().reason;
  EXPECT_EQ(score->killed_seeds, options.seeds);
  EXPECT_TRUE(score->one_minimal);
  EXPECT_LE(score->finals.size(), 2U + (score->flaky_seeds > 0 ? 1U : 0U)) << testing::PrintToString(score->finals);
}

std::string word_of(const testing::TestParamInfo<std::string>& mutant) {
  std::string word = mutant.param.substr(mutant.param.find(':') + 1);
  std::replace(word.begin(), word.end(), '-', '_');
  return word;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryMutant, testing::ValuesIn(mutants()), word_of);

TEST(Catalogue, HoldsAtLeastSixtyFourBugClasses) { EXPECT_GE(mutants().size(), 64U); }

/// Layout bugs that the smallest bound with their feature must hold: the shrinker must get as low as it.
TEST(Power, TheShrinkerGetsAsLowAsTheEnumerator) {
  for (const std::string name : {"flat-chunk", "floor-offset", "empty-offset", "axis-order", "strided-as-plain",
                                 "segments-as-plain", "segment-swap", "keep-padding", "balanced-as-chunk", "last-full",
                                 "transpose-square", "stride-dim", "rank-arithmetic", "size-one-axis", "kv-cyclic"}) {
    PowerOptions options;
    options.subject = "mutant:" + name;
    options.seeds = 2;
    options.bounds = power_bounds();
    const Result<PowerScore> score = measure_power(options);
    ASSERT_TRUE(score.ok());
    EXPECT_FALSE(score->bound.empty()) << name;
    EXPECT_TRUE(score->shrinks_to_smallest) << name << ": " << score->finals.front() << " against " << score->smallest;
  }
}

// ---- the upstream rule -----------------------------------------------------------------------------------------

bool rule_fails(const std::string& text, const std::string& subject_name) {
  const Result<Case> value = parse_case(text);
  const Result<std::unique_ptr<Subject>> subject = make_subject(subject_name);
  EXPECT_TRUE(value.ok() && subject.ok()) << text;
  SimWorld world;
  return upstream_rule_fails(*value, **subject, world);
}

bool we_fail(const std::string& text, const std::string& subject_name) {
  const Result<Case> value = parse_case(text);
  const Result<std::unique_ptr<Subject>> subject = make_subject(subject_name);
  Executor executor;
  return executor.run(*value, **subject)->failed();
}

TEST(UpstreamRule, PassesTheReference) {
  for (const char* const text : {"bf16[8,8] 2@0 S(0) -> 4@2 S(1)", "u8[5,4,3] 2x2@0 S(0),S(2) -> 3@4 S(1)",
                                 "f32[] 1@0 R -> 2@1 R", "u8[0,4] 2@0 S(0) -> 2@2 S(1)"}) {
    EXPECT_FALSE(rule_fails(text, "reference")) << text;
  }
}

TEST(UpstreamRule, SeesAWrongShardUnlessShardsLie256BytesApart) {
  EXPECT_TRUE(rule_fails("u8[500] 1@0 R -> 2@1 S(0)", "mutant:shard-zero"));
  EXPECT_FALSE(rule_fails("u8[512] 1@0 R -> 2@1 S(0)", "mutant:shard-zero"));
  EXPECT_TRUE(we_fail("u8[512] 1@0 R -> 2@1 S(0)", "mutant:shard-zero"));
}

TEST(UpstreamRule, SeesNeitherStrayWritesNorChangedSources) {
  for (const char* const name : {"mutant:overrun", "mutant:underrun", "mutant:scribble-source"}) {
    EXPECT_FALSE(rule_fails("u8[8] 2@0 S(0) -> 2@2 S(0)", name)) << name;
    EXPECT_TRUE(we_fail("u8[8] 2@0 S(0) -> 2@2 S(0)", name)) << name;
  }
}

}  // namespace
}  // namespace reshardcheck
