// Goal: the enumerator visits every case of a bound once. Method: exact counts against the closed form of small
// bounds, distinct texts, shards that add up.
#include "fuzz/enumerator.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

std::int64_t power(std::int64_t base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

/// Sides of `ranks` ranks: one axis with dims+1 placements, or two axes (one way per divisor) with (dims+1)^2.
std::int64_t sides(std::int64_t ranks, int dims) {
  std::int64_t divisors = 0;
  for (std::int64_t d = 1; d <= ranks; ++d) divisors += ranks % d == 0 ? 1 : 0;
  return (dims + 1) + divisors * (dims + 1) * (dims + 1);
}

std::int64_t closed_form(std::int64_t max_ranks, int max_dims, std::int64_t max_extent) {
  std::int64_t total = 0;
  for (int dims = 0; dims <= max_dims; ++dims) {
    for (std::int64_t source = 1; source < max_ranks; ++source) {
      for (std::int64_t target = 1; source + target <= max_ranks; ++target) {
        total += power(max_extent, dims) * sides(source, dims) * sides(target, dims);
      }
    }
  }
  return total;
}

TEST(Enumerator, HoldsTheClosedFormOfTheSmallScope) {
  for (const auto& [ranks, dims, extent] : {std::tuple{2, 0, 1}, std::tuple{3, 1, 4}, std::tuple{5, 2, 3}, std::tuple{6, 1, 5}}) {
    EXPECT_EQ(count_cases(GeneratorOptions::small_scope(ranks, dims, extent)), closed_form(ranks, dims, extent));
  }
}

TEST(Enumerator, HoldsTheKnownCountOfEightRanksTwoDimsExtentFive) {
  EXPECT_EQ(count_cases(GeneratorOptions::small_scope(8, 2, 5)), 324'384);
}

TEST(Enumerator, VisitsEachCaseOnceAndShardsAddUpToTheWhole) {
  const GeneratorOptions bound = GeneratorOptions::small_scope(5, 2, 3);
  std::set<std::string> whole;
  const std::int64_t visited = enumerate_cases(bound, {}, [&](std::int64_t index, const Case& value) {
    EXPECT_EQ(index, std::ssize(whole));
    return whole.insert(to_text(value)).second;
  });
  EXPECT_EQ(visited, std::ssize(whole));
  EXPECT_EQ(visited, count_cases(bound));
  std::set<std::string> parts;
  for (std::int64_t part = 0; part < 3; ++part) {
    enumerate_cases(bound, {part, 3}, [&](std::int64_t, const Case& value) { return parts.insert(to_text(value)).second; });
  }
  EXPECT_EQ(parts, whole);
}

TEST(Enumerator, VisitsEachCaseOnceWithRankOrdersOverlapAndEveryRule) {
  GeneratorOptions bound = GeneratorOptions::small_scope(3, 1, 1);
  bound.max_axes = 1;
  bound.rules = {std::begin(all_rules), std::end(all_rules)};
  bound.rank_order = 100;
  bound.overlap = 50;
  std::set<std::string> texts;
  const std::int64_t count = count_cases(bound);
  ASSERT_LT(count, 100'000);
  const std::int64_t visited = enumerate_cases(
      bound, {}, [&](std::int64_t, const Case& value) { return texts.insert(to_text(value)).second; });
  EXPECT_EQ(visited, std::ssize(texts));
  EXPECT_EQ(visited, count);
  EXPECT_GT(visited, 1'000);
}

TEST(Enumerator, StopsWhenTheVisitorHasSeenEnough) {
  const std::int64_t visited =
      enumerate_cases(GeneratorOptions::small_scope(8, 3, 5), {}, [](std::int64_t index, const Case&) { return index < 9; });
  EXPECT_EQ(visited, 10);
}

}  // namespace
}  // namespace reshardcheck
