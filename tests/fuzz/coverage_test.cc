// Goal: coverage counts what a search has seen, and the steered search sees more of it. Method: feature vectors of
// known cases, counts by hand, and a fixed budget with a floor.
#include "fuzz/coverage.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/layout/notation.h"
#include "fuzz/campaign.h"
#include "fuzz/generator.h"

namespace reshardcheck {
namespace {

std::string_view value_of(const std::string& text, std::string_view feature) {
  const FeatureVector features = features_of(*parse_case(text));
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (feature_kinds()[i].name == feature) return feature_kinds()[i].values[features[i]];
  }
  return "no such feature";
}

TEST(Features, AreWhatTheCaseSays) {
  const std::string text =
      "bf16[5,4] 2x2{3,1,2,0} S(0),S(0) -> 3@2 S(0,balanced) via gather_broadcast | world=9 domain=2 refits=4 gap=1";
  EXPECT_EQ(value_of(text, "source ranks"), "3-4");
  EXPECT_EQ(value_of(text, "target rule"), "balanced");
  EXPECT_EQ(value_of(text, "source axes on one dim"), "yes");
  EXPECT_EQ(value_of(text, "target axes on one dim"), "no");
  EXPECT_EQ(value_of(text, "source order"), "permuted");
  EXPECT_EQ(value_of(text, "shared ranks"), "some");
  EXPECT_EQ(value_of(text, "idle ranks"), "yes");
  EXPECT_EQ(value_of(text, "domains"), "at a side");
  EXPECT_EQ(value_of(text, "refits"), "3+");
  EXPECT_EQ(value_of(text, "path"), "gather_broadcast");
  EXPECT_EQ(value_of(text, "width"), "2");
  EXPECT_EQ(value_of("u8[] 1@0 R -> 1@1 R", "source rule"), "none");
  EXPECT_EQ(value_of("u8[1] 2@0 S(0) -> 1@2 R", "empty shards"), "yes");
}

TEST(Coverage, CountsEveryPairOfACaseOnce) {
  Coverage coverage;
  const FeatureVector features = features_of(*parse_case("u8[4] 2@0 S(0) -> 1@2 R"));
  constexpr std::int64_t pairs = feature_count * (feature_count - 1) / 2;
  EXPECT_EQ(coverage.new_pairs(features), pairs);
  coverage.add(features);
  EXPECT_EQ(coverage.seen_pairs(), pairs);
  EXPECT_EQ(coverage.seen_values(), static_cast<std::int64_t>(feature_count));
  EXPECT_EQ(coverage.new_pairs(features), 0);
  coverage.add(features);
  EXPECT_EQ(coverage.seen_pairs(), pairs);
  EXPECT_EQ(coverage.cases(), 2);
}

TEST(Coverage, NumbersEveryPairDifferently) {
  // All vectors that differ from the first in one or two features together reach exactly the pairs that they must.
  Coverage coverage;
  std::int64_t all_pairs = 0;
  for (std::size_t first = 0; first < feature_count; ++first) {
    for (std::size_t second = first + 1; second < feature_count; ++second) {
      for (std::uint8_t a = 0; a < feature_kinds()[first].values.size(); ++a) {
        for (std::uint8_t b = 0; b < feature_kinds()[second].values.size(); ++b) {
          FeatureVector features{};
          features[first] = a;
          features[second] = b;
          coverage.add(features);
          ++all_pairs;
        }
      }
    }
  }
  EXPECT_EQ(coverage.all_pairs(), all_pairs);
  EXPECT_EQ(coverage.seen_pairs(), all_pairs);
  EXPECT_TRUE(coverage.to_json()["unseen_pairs"].empty());
}

TEST(Coverage, OfAFixedBudgetReachesItsFloorAndSteeringRaisesIt) {
  CampaignOptions options;
  options.seed = 1;
  options.cases = 2'000;
  options.executor.oracles = {false, false, false};
  CampaignObserver silent;
  const Result<CampaignResult> steered = run_campaign(options, silent);
  options.candidates = 1;
  const Result<CampaignResult> plain = run_campaign(options, silent);
  ASSERT_TRUE(steered.ok() && plain.ok());
  EXPECT_EQ(steered->coverage.seen_values(), steered->coverage.all_values());
  EXPECT_GE(steered->coverage.seen_pairs() * 100, steered->coverage.all_pairs() * 85);
  EXPECT_GT(steered->coverage.seen_pairs(), plain->coverage.seen_pairs());
}

}  // namespace
}  // namespace reshardcheck
