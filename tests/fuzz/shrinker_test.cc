// Goal: the shrinker keeps its promises (never up in the order, same bucket, no input twice, within budget, 1-minimal)
// and finds the smallest case of bugs whose parts depend on each other. Method: made-up bugs as predicates on cases,
// whose smallest case is known, and random starts.
#include "fuzz/shrinker.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "core/layout/notation.h"
#include "fuzz/draft.h"
#include "fuzz/generator.h"

namespace reshardcheck {
namespace {

using Bug = std::function<bool(const Case&)>;

Case case_of(std::string_view text) {
  const Result<Case> value = parse_case(text);
  EXPECT_TRUE(value.ok()) << text;
  return *value;
}

Verdict failure(VerdictKind kind = VerdictKind::mismatch) {
  Verdict verdict;
  verdict.kind = kind;
  return verdict;
}

RunCase runs_of(const Bug& bug) {
  return [bug](const Case& value) -> std::optional<Verdict> { return bug(value) ? failure() : Verdict{}; };
}

bool any_side(const Case& value, const std::function<bool(const Layout&)>& holds) {
  return std::any_of(value.tensors.begin(), value.tensors.end(),
                     [&](const TensorCase& tensor) { return holds(tensor.source) || holds(tensor.target); });
}

/// The first axes that shard a dim, if there are two.
bool has_two_axes_on_a_dim(const Layout& layout, std::int64_t least_extent) {
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    std::int64_t axes = 0;
    for (std::size_t axis = 0; axis < layout.placements().size(); ++axis) {
      axes += layout.placements()[axis].dim == static_cast<int>(dim) && layout.mesh().extents()[axis] > 1 ? 1 : 0;
    }
    if (axes >= 2 && layout.shape()[dim] >= least_extent) return true;
  }
  return false;
}

bool has_shard(const Layout& layout, const std::function<bool(std::int64_t extent, std::int64_t parts)>& holds) {
  for (std::size_t axis = 0; axis < layout.placements().size(); ++axis) {
    const Placement& placement = layout.placements()[axis];
    if (placement.is_shard() && holds(layout.shape()[static_cast<std::size_t>(placement.dim)], layout.mesh().extents()[axis])) return true;
  }
  return false;
}

struct KnownBug {
  std::string_view name;
  Bug bug;
  std::string_view smallest;
};

const std::vector<KnownBug>& known_bugs() {
  static const std::vector<KnownBug> bugs = {
      {"always", [](const Case&) { return true; }, "u8[] 1@0 R -> 1@1 R"},
      {"two axes on a dim of five",
       [](const Case& c) { return any_side(c, [](const Layout& l) { return has_two_axes_on_a_dim(l, 5); }); },
       "u8[5] 2x2@0 S(0),S(0) -> 1@4 R"},
      {"extent and axis depend on each other",  // four rows over three ranks, or more of both
       [](const Case& c) {
         return any_side(c, [](const Layout& l) {
           return has_shard(l, [](std::int64_t extent, std::int64_t parts) { return parts >= 3 && extent == parts + 1; });
         });
       },
       "u8[4] 3@0 S(0) -> 1@3 R"},
      {"more target replicas than sources",
       [](const Case& c) {
         return std::any_of(c.tensors.begin(), c.tensors.end(), [](const TensorCase& t) {
           return t.target.replica_count() > t.source.replica_count();
         });
       },
       "u8[] 1@0 R -> 2@1 R"},
      {"a target cut in two dims",
       [](const Case& c) {
         return std::any_of(c.tensors.begin(), c.tensors.end(), [](const TensorCase& t) {
           return t.target.dims() > 1 && t.target.pieces(0).size() > 1 && t.target.pieces(1).size() > 1;
         });
       },
       "u8[1,1] 1@0 R -> 2x2@1 S(0),S(1)"},
      {"an empty shard", [](const Case& c) {
         return any_side(c, [](const Layout& l) {
           for (std::size_t i = 0; i < l.mesh().size(); ++i) {
             if (l.owned_elements(i) == 0 && elements(l.shape()) > 0) return true;
           }
           return false;
         });
       },
       "u8[1] 2@0 S(0) -> 1@2 R"},
      {"three refits of a wide dtype",
       [](const Case& c) {
         return c.options.refits >= 3 && std::any_of(c.tensors.begin(), c.tensors.end(), [](const TensorCase& t) {
                  return width_bytes(t.dtype) == 4;
                });
       },
       "i32[] 1@0 R -> 1@1 R | refits=3"},
      {"two tensors of one shape",
       [](const Case& c) {
         return c.tensors.size() > 1 && c.tensors[0].shape() == c.tensors[1].shape() && elements(c.tensors[0].shape()) > 1;
       },
       "u8[2] 1@0 R -> 1@1 R ; u8[2] 1@0 R -> 1@1 R"},
      {"target ranks below source ranks",
       [](const Case& c) {
         return std::any_of(c.tensors.begin(), c.tensors.end(), [](const TensorCase& t) {
           return t.target.mesh().highest_rank() < t.source.mesh().lowest_rank();
         });
       },
       "u8[] 1@1 R -> 1@0 R"},
      {"segments, and a rank list out of order",
       [](const Case& c) {
         return any_side(c, [](const Layout& l) {
           return !std::is_sorted(l.mesh().ranks().begin(), l.mesh().ranks().end()) &&
                  std::any_of(l.placements().begin(), l.placements().end(), [](const Placement& p) { return p.is_shard() && p.rule == SplitRule::segments; });
         });
       },
       "u8[1] 2{1,0} S(0,segments=1|0) -> 1@2 R"},
  };
  return bugs;
}

/// Random failing cases of a bug, a few.
std::vector<Case> failing_cases(const Bug& bug, std::size_t count) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < 5'000 && cases.size() < count; ++seed) {
    RandomChoices choices{rc::Random(seed)};
    Case value = generate_case(choices, {});
    if (bug(value)) cases.push_back(std::move(value));
  }
  return cases;
}

TEST(Shrinker, EndsInTheSmallestCaseOfKnownBugsWhereverItStarts) {
  for (const KnownBug& known : known_bugs()) {
    const std::vector<Case> starts = failing_cases(known.bug, 12);
    EXPECT_GE(starts.size(), 8u) << known.name;
    for (const Case& start : starts) {
      const ShrinkResult result = shrink(start, failure(), runs_of(known.bug));
      EXPECT_EQ(to_text(result.minimal), known.smallest) << known.name << " from " << to_text(start);
      EXPECT_TRUE(result.one_minimal);
    }
  }
}

TEST(Shrinker, LeavesNoSingleStepThatStillFails) {
  for (const KnownBug& known : known_bugs()) {
    for (const Case& start : failing_cases(known.bug, 5)) {
      const ShrinkResult result = shrink(start, failure(), runs_of(known.bug));
      for (const Case& smaller : smaller_cases(result.minimal)) EXPECT_FALSE(known.bug(smaller)) << known.name << ": " << to_text(smaller);
    }
  }
}

/// A bug without sense: whether a case fails depends on its text alone. No structure helps here.
bool fails_by_chance(const Case& value) { return std::hash<std::string>{}(to_text(value)) % 3 == 0; }

RC_GTEST_PROP(Shrinker, KeepsItsPromisesEvenWhenTheBugHasNoSense, (std::uint64_t seed)) {
  RandomChoices choices{rc::Random(seed)};
  const Case start = generate_case(choices, {});
  std::set<std::string> run{to_text(start)};
  Case best = start;
  ShrinkOptions options;
  options.on_best = [&](const Case& value, const Verdict&) {
    RC_ASSERT(simpler(value, best));
    best = value;
  };
  const ShrinkResult result = shrink(
      start, failure(),
      [&](const Case& value) -> std::optional<Verdict> {
        RC_ASSERT(run.insert(to_text(value)).second);  // never the same input twice
        RC_ASSERT(simpler(value, best));
        RC_ASSERT(validate(value).ok());
        return fails_by_chance(value) ? failure() : Verdict{};
      },
      options);
  RC_ASSERT(result.one_minimal);
  RC_ASSERT(result.minimal == best);
  RC_ASSERT(result.runs == std::ssize(run) - 1);
  for (const Case& smaller : smaller_cases(result.minimal)) RC_ASSERT(!fails_by_chance(smaller));
}

TEST(Shrinker, StopsWhenItsRunsAreSpentAndSaysThatTheResultMayNotBeMinimal) {
  const Case start = case_of("bf16[9,7] 3x2@0 S(0),S(1) -> 4@6 S(1) | refits=3 seed=9");
  for (const std::int64_t budget : {0, 1, 3}) {
    ShrinkOptions options;
    options.max_runs = budget;
    std::int64_t runs = 0;
    const ShrinkResult result = shrink(
        start, failure(),
        [&](const Case& value) -> std::optional<Verdict> {
          ++runs;
          return value == start ? failure() : Verdict{};
        },
        options);
    EXPECT_EQ(runs, budget);
    EXPECT_EQ(result.runs, budget);
    EXPECT_FALSE(result.one_minimal);
    EXPECT_EQ(result.minimal, start);
  }
}

TEST(Shrinker, AsksForTimeBeforeEachRun) {
  ShrinkOptions options;
  int asked = 0;
  options.out_of_time = [&] { return ++asked > 4; };
  const ShrinkResult result = shrink(case_of("bf16[9,7] 3x2@0 S(0),S(1) -> 4@6 S(1)"), failure(),
                                     [](const Case&) -> std::optional<Verdict> { return Verdict{}; }, options);
  EXPECT_EQ(result.runs, 4);
  EXPECT_FALSE(result.one_minimal);
}

TEST(Shrinker, AcceptsOnlyItsOwnBucketAndReportsTheOthers) {
  const Case start = case_of("bf16[9,7] 3x2@0 S(0),S(1) -> 4@6 S(1)");
  std::int64_t slipped = 0;
  ShrinkOptions options;
  options.on_slipped = [&](const Case& value, const Verdict& verdict) {
    EXPECT_EQ(verdict.kind, VerdictKind::crash);
    EXPECT_EQ(value.tensors.front().dtype, DType::u8);
    ++slipped;
  };
  const ShrinkResult result = shrink(
      start, failure(VerdictKind::hang),
      [](const Case& value) -> std::optional<Verdict> {
        return failure(value.tensors.front().dtype == DType::u8 ? VerdictKind::crash : VerdictKind::hang);
      },
      options);
  EXPECT_GT(slipped, 0);
  EXPECT_EQ(result.verdict.kind, VerdictKind::hang);
  EXPECT_NE(result.minimal.tensors.front().dtype, DType::u8);
}

TEST(Shrinker, HoldsTheWaysInWhichDataCanBeWrongToBeOneBucket) {
  EXPECT_EQ(bucket(VerdictKind::mismatch), bucket(VerdictKind::unwritten));
  EXPECT_EQ(bucket(VerdictKind::mismatch), bucket(VerdictKind::stale));
  EXPECT_NE(bucket(VerdictKind::mismatch), bucket(VerdictKind::guard));
  EXPECT_NE(bucket(VerdictKind::hang), bucket(VerdictKind::crash));
}

TEST(Shrinker, TreatsACaseThatCannotBeRunAsOneThatPasses) {
  const Case start = case_of("u8[4] 2@0 S(0) -> 1@2 R");
  const ShrinkResult result = shrink(start, failure(), [](const Case&) -> std::optional<Verdict> { return std::nullopt; });
  EXPECT_EQ(result.minimal, start);
  EXPECT_TRUE(result.one_minimal);
}

RC_GTEST_PROP(SmallerCases, AreValidSimplerAndDistinct, (std::uint64_t seed)) {
  RandomChoices choices{rc::Random(seed)};
  const Case value = generate_case(choices, {});
  std::set<std::string> texts;
  const Case* previous = nullptr;
  const std::vector<Case> smaller = smaller_cases(value);
  for (const Case& each : smaller) {
    RC_ASSERT(validate(each).ok());
    RC_ASSERT(*parse_case(to_text(each)) == each);
    RC_ASSERT(simpler(each, value));
    RC_ASSERT(texts.insert(to_text(each)).second);
    RC_ASSERT((previous == nullptr || simpler(*previous, each)));  // in parentheses: RC_ASSERT overloads ||
    previous = &each;
  }
}

TEST(SmallerCases, OfTheSimplestCaseAreNone) {
  EXPECT_TRUE(smaller_cases(case_of("u8[] 1@0 R -> 1@1 R")).empty());
}

}  // namespace
}  // namespace reshardcheck
