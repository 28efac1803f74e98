// Goal: every split rule deals out a dim as its row of the table in README.md says, worked examples included.
// Method: the examples are pinned; what rules have in common is stated as properties over any extent and part count.
#include "core/layout/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "core/layout/layout.h"
#include "tests/support/arbitrary_layout.h"

namespace reshardcheck {
namespace {

using Sizes = std::vector<std::int64_t>;

std::vector<DimPiece> pieces_of(std::int64_t extent, const Sizes& mesh, const std::vector<Placement>& placements) {
  const Result<Layout> layout = Layout::make({extent}, *Mesh::consecutive(mesh, 0), placements);
  EXPECT_TRUE(layout.ok()) << layout.error().reason;
  std::vector<DimPiece> pieces;
  for (std::size_t index = 0; index < layout->mesh().size(); ++index) pieces.push_back(layout->piece(index, 0));
  return pieces;
}

Sizes owned_sizes(const std::vector<DimPiece>& pieces) {
  Sizes sizes;
  for (const DimPiece& piece : pieces) sizes.push_back(piece.owned.size());
  return sizes;
}

std::vector<std::string> owned(const std::vector<DimPiece>& pieces) {
  std::vector<std::string> texts;
  for (const DimPiece& piece : pieces) texts.push_back(piece.owned.text());
  return texts;
}

std::vector<IntervalList> owned_lists(const std::vector<DimPiece>& pieces) {
  std::vector<IntervalList> lists;
  for (const DimPiece& piece : pieces) lists.push_back(piece.owned);
  return lists;
}

std::vector<DimPiece> split_whole(std::int64_t extent, const Placement& placement, std::int64_t parts) {
  return *split({IntervalList({0, extent}), extent}, placement, parts);
}

using Texts = std::vector<std::string>;

TEST(SplitRules, ChunkIsCeilSizedWithTheRestShorter) {
  EXPECT_EQ(owned_sizes(pieces_of(10, {4}, {Placement::shard(0)})), (Sizes{3, 3, 3, 1}));
  EXPECT_EQ(owned_sizes(pieces_of(5, {4}, {Placement::shard(0)})), (Sizes{2, 2, 1, 0}));
  EXPECT_EQ(owned_sizes(pieces_of(0, {3}, {Placement::shard(0)})), (Sizes{0, 0, 0}));
}

TEST(SplitRules, ChunkNestsAxisByAxis) {
  const std::vector<Placement> twice = {Placement::shard(0), Placement::shard(0)};
  EXPECT_EQ(owned_sizes(pieces_of(6, {2, 2}, twice)), (Sizes{2, 1, 2, 1}));
  EXPECT_EQ(owned_sizes(pieces_of(5, {2, 2}, twice)), (Sizes{2, 1, 1, 1}));
}

TEST(SplitRules, BalancedGivesTheFirstPartsOneMore) {
  const Placement balanced = Placement::shard(0, SplitRule::balanced);
  EXPECT_EQ(owned_sizes(pieces_of(10, {4}, {balanced})), (Sizes{3, 3, 2, 2}));
  EXPECT_EQ(owned_sizes(pieces_of(6, {2, 2}, {balanced, balanced})), (Sizes{2, 2, 1, 1}));
}

TEST(SplitRules, BalancedAxesAreOneAxisEvenWithAnotherAxisBetween) {
  const Placement balanced = Placement::shard(0, SplitRule::balanced);
  const auto pieces = pieces_of(6, {2, 3, 2}, {balanced, Placement::replicate(), balanced});
  EXPECT_EQ(owned_sizes(pieces), (Sizes{2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1}));
}

TEST(SplitRules, EvenMustDivide) {
  const Placement even = Placement::shard(0, SplitRule::even);
  EXPECT_EQ(owned_sizes(pieces_of(12, {2, 3}, {even, even})), (Sizes{2, 2, 2, 2, 2, 2}));
  EXPECT_FALSE(split({IntervalList({0, 7}), 7}, even, 2).ok());
}

TEST(SplitRules, PaddedMakesAllLocalShapesEqualAndTheTailHoldsNothing) {
  const auto pieces = pieces_of(10, {4}, {Placement::shard(0, SplitRule::padded)});
  EXPECT_EQ(owned_sizes(pieces), (Sizes{3, 3, 3, 1}));
  for (const DimPiece& piece : pieces) EXPECT_EQ(piece.local_extent, 3);
}

TEST(SplitRules, PadRoundsUpToTheMultipleFirst) {
  const auto pieces = pieces_of(10, {3}, {Placement::padded(0, 8)});  // 10 -> 16 -> 18
  EXPECT_EQ(owned_sizes(pieces), (Sizes{6, 4, 0}));
  for (const DimPiece& piece : pieces) EXPECT_EQ(piece.local_extent, 6);
}

TEST(SplitRules, PaddedNestsOnThePaddedArray) {
  const Placement padded = Placement::shard(0, SplitRule::padded);
  const auto pieces = pieces_of(5, {2, 2}, {padded, padded});  // 5 -> 6: 3 (+0), 2 (+1); each -> 4: 2, 2
  EXPECT_EQ(owned(pieces), (Texts{"[0,2)", "[2,3)", "[3,5)", "[)"}));
  for (const DimPiece& piece : pieces) EXPECT_EQ(piece.local_extent, 2);
}

TEST(SplitRules, CutsAreTheSizesGiven) {
  EXPECT_EQ(owned(pieces_of(9, {3}, {Placement::cuts(0, {5, 0, 4})})), (Texts{"[0,5)", "[)", "[5,9)"}));
}

TEST(SplitRules, SegmentsAreChunkedOneByOneAndConcatenated) {
  EXPECT_EQ(owned(pieces_of(10, {2}, {Placement::segments(0, {6, 2, 2})})),
            (Texts{"[0,3)[6,7)[8,9)", "[3,6)[7,8)[9,10)"}));
  EXPECT_EQ(owned(pieces_of(5, {2}, {Placement::segments(0, {3, 0, 2})})), (Texts{"[0,2)[3,4)", "[2,3)[4,5)"}));
}

TEST(SplitRules, SegmentsNestWithinEachSegment) {
  const Placement fused = Placement::segments(0, {8, 4});
  EXPECT_EQ(owned(pieces_of(12, {2, 2}, {fused, fused})),
            (Texts{"[0,2)[8,9)", "[2,4)[9,10)", "[4,6)[10,11)", "[6,8)[11,12)"}));
}

TEST(SplitRules, StridedDealsChunksOverTheAxis) {
  EXPECT_EQ(owned(pieces_of(9, {4}, {Placement::strided(0, 2)})),
            (Texts{"[0,2)[5,6)", "[2,4)[6,7)", "[4,5)[7,8)", "[8,9)"}));
}

TEST(SplitRules, CompositionGoesLeftToRightSoPermutedAxesReverseIt) {
  const auto outer_first = pieces_of(5, {2, 3}, {Placement::shard(0), Placement::shard(0)});
  EXPECT_EQ(owned_sizes(outer_first), (Sizes{1, 1, 1, 1, 1, 0}));
  const auto inner_first = pieces_of(5, {3, 2}, {Placement::shard(0), Placement::shard(0)});
  EXPECT_EQ(owned_sizes(inner_first), (Sizes{1, 1, 1, 1, 1, 0}));
  EXPECT_NE(owned(pieces_of(7, {2, 3}, {Placement::shard(0), Placement::shard(0)})),
            owned(pieces_of(7, {3, 2}, {Placement::shard(0), Placement::shard(0)})));
}

TEST(SplitRules, TheLargestExtentsDoNotOverflow) {
  for (const Placement& placement :
       {Placement::shard(0), Placement::strided(0, 2), Placement::strided(0, 3),
        Placement::segments(0, {INT64_MAX - 1, 1}), Placement::shard(0, SplitRule::balanced)}) {
    std::int64_t total = 0;
    for (const DimPiece& piece : split_whole(INT64_MAX, placement, 3)) total += piece.owned.size();
    EXPECT_EQ(total, INT64_MAX) << placement.text();
  }
  EXPECT_FALSE(split({IntervalList({0, INT64_MAX}), INT64_MAX}, Placement::padded(0, 2), 2).ok());
}

RC_GTEST_PROP(SplitLaws, ChunkSizesAreCeilThenTheRest, ()) {
  const std::int64_t extent = *arbitrary::integer(0, 50);
  const std::int64_t parts = *arbitrary::integer(1, 9);
  const std::int64_t size = (extent + parts - 1) / parts;
  std::int64_t left = extent;
  for (const DimPiece& piece : split_whole(extent, Placement::shard(0), parts)) {
    RC_ASSERT(piece.owned.size() == std::min(size, left));
    left -= piece.owned.size();
  }
  RC_ASSERT(left == 0);
}

RC_GTEST_PROP(SplitLaws, BalancedSizesDifferByAtMostOneAndNeverGrow, ()) {
  const std::int64_t extent = *arbitrary::integer(0, 50);
  const std::int64_t parts = *arbitrary::integer(1, 9);
  const Sizes sizes = owned_sizes(split_whole(extent, Placement::shard(0, SplitRule::balanced), parts));
  RC_ASSERT(sizes.front() - sizes.back() <= 1);
  RC_ASSERT(std::is_sorted(sizes.rbegin(), sizes.rend()));
  RC_ASSERT(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == extent);
}

RC_GTEST_PROP(SplitLaws, RulesThatMeanTheSameDealTheSame, ()) {
  const std::int64_t parts = *arbitrary::integer(1, 6);
  const std::int64_t extent = *arbitrary::integer(0, 30);
  const auto chunk = split_whole(extent, Placement::shard(0), parts);
  RC_ASSERT(split_whole(extent, Placement::segments(0, {extent}), parts) == chunk);
  RC_ASSERT(split_whole(extent, Placement::strided(0, 1), parts) == chunk);
  RC_ASSERT(split_whole(extent, Placement::cuts(0, owned_sizes(chunk)), parts) == chunk);
  RC_ASSERT(owned_lists(split_whole(extent, Placement::padded(0, 1), parts)) == owned_lists(chunk));
  const std::int64_t whole = extent * parts;
  const auto even = split_whole(whole, Placement::shard(0, SplitRule::even), parts);
  RC_ASSERT(even == split_whole(whole, Placement::shard(0), parts));
  RC_ASSERT(even == split_whole(whole, Placement::shard(0, SplitRule::balanced), parts));
  RC_ASSERT(even == split_whole(whole, Placement::shard(0, SplitRule::padded), parts));
}

RC_GTEST_PROP(SplitLaws, PaddedLocalExtentsAreEqualAndAMultipleOfTheirPartsCoversTheDim, ()) {
  const std::int64_t extent = *arbitrary::integer(0, 30);
  const std::int64_t parts = *arbitrary::integer(1, 6);
  const std::int64_t multiple = *arbitrary::integer(1, 9);
  const auto pieces = split_whole(extent, Placement::padded(0, multiple), parts);
  const std::int64_t local = pieces.front().local_extent;
  for (const DimPiece& piece : pieces) RC_ASSERT(piece.local_extent == local);
  const std::int64_t rounded = (extent + multiple - 1) / multiple * multiple;
  RC_ASSERT(local * parts >= rounded);
  RC_ASSERT(local * parts < rounded + parts);
}

RC_GTEST_PROP(SplitLaws, SplittingNeverMakesMoreIntervalsThanAnnounced, ()) {
  const std::int64_t extent = *arbitrary::integer(0, 30);
  const std::int64_t parts = *arbitrary::integer(1, 6);
  DimPiece piece{IntervalList({0, extent}), extent};
  piece = split(piece, Placement::strided(0, *arbitrary::integer(1, 5)), 2)->front();
  const Placement placement = *arbitrary::mixing_placement(0, extent);
  std::int64_t made = 0;
  for (const DimPiece& part : *split(piece, placement, parts)) made += std::ssize(part.owned.intervals());
  RC_ASSERT(made <= split_intervals(piece, placement, parts));
}

TEST(Placement, PrintsAsTheNotationWritesIt) {
  EXPECT_EQ(Placement::replicate().text(), "R");
  EXPECT_EQ(Placement::shard(0).text(), "S(0)");
  EXPECT_EQ(Placement::shard(1, SplitRule::balanced).text(), "S(1,balanced)");
  EXPECT_EQ(Placement::shard(1, SplitRule::even).text(), "S(1,even)");
  EXPECT_EQ(Placement::shard(1, SplitRule::padded).text(), "S(1,padded)");
  EXPECT_EQ(Placement::padded(0, 4).text(), "S(0,pad=4)");
  EXPECT_EQ(Placement::cuts(2, {3, 0, 1}).text(), "S(2,cuts=3|0|1)");
  EXPECT_EQ(Placement::segments(0, {6, 2, 2}).text(), "S(0,segments=6|2|2)");
  EXPECT_EQ(Placement::strided(0, 2).text(), "_S(0,2)");
}

}  // namespace
}  // namespace reshardcheck
