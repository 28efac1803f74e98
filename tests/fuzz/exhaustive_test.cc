// Goal: the exhaustive search sees every case of its bound whatever the number of jobs and shards, and finds the
// simplest failing one. Method: known bounds on the reference and on seeded bugs, cut in different ways.
#include "fuzz/exhaustive.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

ExhaustiveOptions options_for(std::string subject) {
  ExhaustiveOptions options;
  options.subject = std::move(subject);
  options.bound = GeneratorOptions::small_scope(5, 1, 3);
  return options;
}

ExhaustiveResult run(const ExhaustiveOptions& options) {
  Result<ExhaustiveResult> result = run_exhaustive(options);
  EXPECT_TRUE(result.ok());
  return *std::move(result);
}

TEST(Exhaustive, PassesTheReferenceOnEveryCaseOfTheBound) {
  const ExhaustiveResult result = run(options_for("reference"));
  EXPECT_EQ(result.visited, count_cases(options_for("reference").bound));
  EXPECT_EQ(result.verdicts[static_cast<std::size_t>(VerdictKind::pass)], result.visited);
  EXPECT_TRUE(result.complete);
  EXPECT_FALSE(result.simplest);
}

TEST(Exhaustive, SaysTheSameWithAnyNumberOfJobs) {
  ExhaustiveOptions options = options_for("mutant:flat-chunk");
  const ExhaustiveResult one = run(options);
  options.jobs = 3;
  const ExhaustiveResult three = run(options);
  EXPECT_GT(one.failed, 0);
  EXPECT_EQ(one.failed, three.failed);
  EXPECT_EQ(one.verdicts, three.verdicts);
  ASSERT_EQ(one.first.size(), three.first.size());
  for (std::size_t i = 0; i < one.first.size(); ++i) EXPECT_EQ(one.first[i].index, three.first[i].index);
  EXPECT_EQ(to_text(one.simplest->value), "u8[2] 2x2@0 S(0),S(0) -> 1@4 R");
  EXPECT_EQ(one.simplest->value, three.simplest->value);
}

TEST(Exhaustive, ShardsAddUpToTheWhole) {
  ExhaustiveOptions options = options_for("mutant:axis-order");
  const ExhaustiveResult whole = run(options);
  std::int64_t visited = 0;
  std::int64_t failed = 0;
  options.shard.count = 4;
  for (options.shard.index = 0; options.shard.index < 4; ++options.shard.index) {
    const ExhaustiveResult part = run(options);
    visited += part.visited;
    failed += part.failed;
  }
  EXPECT_EQ(visited, whole.visited);
  EXPECT_EQ(failed, whole.failed);
}

TEST(Exhaustive, IsIncompleteWhenItIsCancelled) {
  ExhaustiveOptions options = options_for("reference");
  std::atomic<int> asked{0};
  options.cancelled = [&asked] { return ++asked > 10; };
  const ExhaustiveResult result = run(options);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.visited, 10);
}

TEST(Exhaustive, RefusesWhatCannotBeSearched) {
  EXPECT_FALSE(run_exhaustive(options_for("mutant:no-such-bug")).ok());
  ExhaustiveOptions options = options_for("reference");
  options.jobs = 0;
  EXPECT_FALSE(run_exhaustive(options).ok());
  options = options_for("reference");
  options.shard = {2, 2};
  EXPECT_FALSE(run_exhaustive(options).ok());
}

}  // namespace
}  // namespace reshardcheck
