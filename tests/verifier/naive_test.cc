// The naive owner map and core/layout share no code and must say the same about every layout.
#include "verifier/naive.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/layout/notation.h"
#include "tests/core/plan/generated_layouts.h"
#include "verifier/naive_oracle.h"

namespace reshardcheck {
namespace {

void expect_same_owners(const Layout& layout) {
  const NaiveLayout naive(layout.shape(), layout.mesh(), layout.placements());
  for (std::size_t m = 0; m < layout.mesh().size(); ++m) {
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
      const DimPiece& piece = layout.piece(m, dim);
      const std::vector<std::int64_t>& indices = naive.indices(m, dim);
      RC_ASSERT(std::ssize(indices) == piece.local_extent);
      for (std::int64_t local = 0; local < piece.local_extent; ++local) {
        const std::int64_t expected = local < piece.owned.size() ? piece.owned.at(local) : NaiveLayout::padding;
        RC_ASSERT(indices[static_cast<std::size_t>(local)] == expected);
      }
    }
  }
}

RC_GTEST_PROP(NaiveLayout, AgreesWithTheIntervalListsOnEveryLayout, ()) {
  const LayoutPair pair = *layout_pairs();
  expect_same_owners(pair.source);
  expect_same_owners(pair.target);
}

RC_GTEST_PROP(NaiveLayout, NamesExactlyOneFirstReplicaPerShard, ()) {
  const LayoutPair pair = *layout_pairs();
  const Layout& layout = pair.source;
  const NaiveLayout naive(layout.shape(), layout.mesh(), layout.placements());
  std::vector<int> first(layout.shards(), 0);
  for (std::size_t m = 0; m < layout.mesh().size(); ++m) first[layout.shard_of(m)] += naive.is_first_replica(m) ? 1 : 0;
  for (const int count : first) RC_ASSERT(count == 1);
}

std::vector<std::int64_t> owned(std::string_view side, std::size_t mesh_index) {
  const std::string text = "u8[" + std::string(side.substr(0, side.find(' '))) + "] " +
                           std::string(side.substr(side.find(' ') + 1)) + " -> 1@0 R";
  const Result<Case> value = parse_case(text);
  EXPECT_TRUE(value.ok()) << text;
  const Layout& layout = value->tensors[0].source;
  return NaiveLayout(layout.shape(), layout.mesh(), layout.placements()).indices(mesh_index, 0);
}

TEST(NaiveLayout, DealsTheExamplesOfTheRuleTable) {
  using L = std::vector<std::int64_t>;
  EXPECT_EQ(owned("10 4@0 S(0)", 3), (L{9}));
  EXPECT_EQ(owned("5 4@0 S(0)", 3), (L{}));
  EXPECT_EQ(owned("6 2x2@0 S(0),S(0)", 0), (L{0, 1}));
  EXPECT_EQ(owned("6 2x2@0 S(0),S(0)", 1), (L{2}));
  EXPECT_EQ(owned("10 4@0 S(0,balanced)", 2), (L{6, 7}));
  EXPECT_EQ(owned("6 2x2@0 S(0,balanced),S(0,balanced)", 1), (L{2, 3}));
  EXPECT_EQ(owned("5 2@0 S(0,padded)", 1), (L{3, 4, -1}));
  EXPECT_EQ(owned("5 2@0 S(0,pad=4)", 1), (L{4, -1, -1, -1}));
  EXPECT_EQ(owned("5 3@0 S(0,cuts=0|4|1)", 1), (L{0, 1, 2, 3}));
  EXPECT_EQ(owned("10 2@0 S(0,segments=6|2|2)", 1), (L{3, 4, 5, 7, 9}));
  EXPECT_EQ(owned("9 4@0 _S(0,2)", 0), (L{0, 1, 5}));
  EXPECT_EQ(owned("9 4@0 _S(0,2)", 3), (L{8}));
}

TEST(NaiveMaps, LeavesTensorsWithoutElementsAlone) {
  const Result<Case> value = parse_case("u8[0,1000000000000] 2@0 S(1) -> 2@2 S(0) ; u8[3] 2@0 S(0) -> 2@2 R");
  ASSERT_TRUE(value.ok());
  NaiveMaps maps;
  maps.assign(*value);
  EXPECT_FALSE(maps.has(0));
  EXPECT_TRUE(maps.has(1));
  EXPECT_EQ(maps.source(1).indices(1, 0), (std::vector<std::int64_t>{2}));
}

}  // namespace
}  // namespace reshardcheck
