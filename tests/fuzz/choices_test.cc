// Goal: decisions are the same everywhere, bounded, and counted ones visit each path once.
#include "fuzz/choices.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace reshardcheck {
namespace {

TEST(RandomChoices, AreTheSameForOneSeedOnEveryMachine) {
  RandomChoices choices{rc::Random(1)};
  std::vector<std::int64_t> drawn;
  for (int i = 0; i < 8; ++i) drawn.push_back(choices.below(1000));
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{86, 590, 265, 378, 638, 52, 141, 5}));
}

TEST(RandomChoices, ReachEveryNumberBelowTheCountAndNoOther) {
  RandomChoices choices{rc::Random(7)};
  std::set<std::int64_t> seen;
  for (int i = 0; i < 500; ++i) seen.insert(choices.below(6));
  EXPECT_EQ(seen, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(RandomChoices, FollowTheWeights) {
  RandomChoices choices{rc::Random(3)};
  std::array<int, 3> seen{};
  constexpr int weights[] = {1, 0, 9};
  for (int i = 0; i < 1000; ++i) ++seen[choices.weighted(weights)];
  EXPECT_EQ(seen[1], 0);
  EXPECT_GT(seen[0], 50);
  EXPECT_GT(seen[2], 800);
}

TEST(RandomChoices, ChancesOfNothingAndOfEverythingAreNoDecision) {
  RandomChoices once{rc::Random(5)};
  RandomChoices again{rc::Random(5)};
  EXPECT_FALSE(once.chance(0));
  EXPECT_TRUE(once.chance(100));
  EXPECT_EQ(once.below(1'000'000), again.below(1'000'000));
}

TEST(CountingChoices, VisitEveryPathOnceWhenLaterDecisionsDependOnEarlierOnes) {
  CountingChoices choices;
  std::set<std::vector<std::int64_t>> paths;
  int runs = 0;
  do {
    std::vector<std::int64_t> path{choices.below(3)};
    for (std::int64_t i = 0; i < path[0]; ++i) path.push_back(choices.between(5, 6));
    constexpr int weights[] = {0, 3, 1};
    path.push_back(static_cast<std::int64_t>(choices.weighted(weights)));
    paths.insert(path);
    ++runs;
  } while (choices.next());
  EXPECT_EQ(runs, (1 + 2 + 4) * 2);
  EXPECT_EQ(std::ssize(paths), runs);
}

TEST(CountingChoices, OfAGeneratorThatDecidesNothingHaveOnePath) {
  CountingChoices choices;
  EXPECT_EQ(choices.below(1), 0);
  EXPECT_FALSE(choices.chance(0));
  EXPECT_FALSE(choices.next());
}

}  // namespace
}  // namespace reshardcheck
