// Goal: a layout deals out every element exactly once per replica group, whatever rules made it.
// Method: properties over random layouts of all rules, counted element by element; edge shapes are pinned.
#include "core/layout/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "core/layout/limits.h"
#include "tests/support/arbitrary_layout.h"

namespace reshardcheck {
namespace {

RC_GTEST_PROP(LayoutLaws, EveryIndexOfADimIsOwnedByExactlyOnePiece, ()) {
  const Layout layout = *arbitrary::layout();
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    std::vector<int> owners(static_cast<std::size_t>(layout.shape()[dim]), 0);
    for (const DimPiece& piece : layout.pieces(dim)) {
      for (std::int64_t local = 0; local < piece.owned.size(); ++local) {
        owners.at(static_cast<std::size_t>(piece.owned.at(local))) += 1;
      }
    }
    RC_ASSERT(std::all_of(owners.begin(), owners.end(), [](int count) { return count == 1; }));
  }
}

RC_GTEST_PROP(LayoutLaws, TheNumberOfPiecesOfADimIsTheProductOfTheAxesThatShardIt, ()) {
  const Layout layout = *arbitrary::layout();
  std::size_t shards = 1;
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < layout.mesh().axes(); ++axis) {
      if (layout.placements()[axis].dim == static_cast<int>(dim)) product *= layout.mesh().extents()[axis];
    }
    RC_ASSERT(std::ssize(layout.pieces(dim)) == product);
    shards *= static_cast<std::size_t>(product);
  }
  RC_ASSERT(layout.shards() == shards);
}

RC_GTEST_PROP(LayoutLaws, ReplicaGroupsPartitionTheMesh, ()) {
  const Layout layout = *arbitrary::layout();
  std::set<Rank> seen;
  for (std::size_t shard = 0; shard < layout.shards(); ++shard) {
    RC_ASSERT(layout.replicas(shard).size() == layout.replica_count());
    std::size_t previous = 0;
    for (const Rank rank : layout.replicas(shard)) {
      const std::size_t index = layout.mesh().index_of(rank).value();
      RC_ASSERT(layout.shard_of(index) == shard);
      RC_ASSERT(rank == layout.replicas(shard).front() || index > previous);  // in mesh order
      previous = index;
      RC_ASSERT(seen.insert(rank).second);
      for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
        RC_ASSERT(layout.piece(index, dim) == layout.shard_piece(shard, dim));
      }
    }
  }
  RC_ASSERT(seen.size() == layout.mesh().size());
}

RC_GTEST_PROP(LayoutLaws, RanksThatDifferOnlyOnReplicatedAxesHoldTheSameShard, ()) {
  const Layout layout = *arbitrary::layout();
  const Mesh& mesh = layout.mesh();
  for (std::size_t a = 0; a < mesh.size(); ++a) {
    for (std::size_t b = 0; b < mesh.size(); ++b) {
      bool same = true;
      for (std::size_t axis = 0; axis < mesh.axes(); ++axis) {
        if (layout.placements()[axis].is_shard()) same = same && mesh.coordinate(a, axis) == mesh.coordinate(b, axis);
      }
      RC_ASSERT((layout.shard_of(a) == layout.shard_of(b)) == same);
    }
  }
}

RC_GTEST_PROP(LayoutLaws, ShardsTogetherHoldEveryElementOnce, ()) {
  const Layout layout = *arbitrary::layout();
  std::int64_t owned = 0;
  for (std::size_t shard = 0; shard < layout.shards(); ++shard) {
    owned += layout.owned_elements(layout.mesh().index_of(layout.replicas(shard).front()).value());
  }
  RC_ASSERT(owned == elements(layout.shape()));
}

RC_GTEST_PROP(LayoutLaws, LocalTensorsExceedWhatIsOwnedOnlyUnderThePaddedRules, ()) {
  const Layout layout = *arbitrary::layout();
  const auto is_padded = [](const Placement& placement) {
    return placement.is_shard() && placement.rule == SplitRule::padded;
  };
  const bool padded = std::any_of(layout.placements().begin(), layout.placements().end(), is_padded);
  for (std::size_t index = 0; index < layout.mesh().size(); ++index) {
    RC_ASSERT(layout.local_elements(index) >= layout.owned_elements(index));
    RC_ASSERT((padded || layout.local_elements(index) == layout.owned_elements(index)));
    RC_ASSERT(elements(layout.local_shape(index)) == layout.local_elements(index));
  }
}

RC_GTEST_PROP(LayoutLaws, ReorderedRanksHoldWhatTheirCoordinateHolds, ()) {
  const Layout layout = *arbitrary::layout();
  const Mesh& mesh = layout.mesh();
  const std::vector<std::int64_t> extents(mesh.extents().begin(), mesh.extents().end());
  const std::vector<Placement> placements(layout.placements().begin(), layout.placements().end());
  const Layout renumbered = *Layout::make(layout.shape(), *Mesh::consecutive(extents, 0), placements);
  for (std::size_t index = 0; index < mesh.size(); ++index) {
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
      RC_ASSERT(renumbered.piece(index, dim) == layout.piece(index, dim));
    }
  }
}

RC_GTEST_PROP(LayoutLaws, PermutedMeshAxesOfDifferentDimsChangeNoRanksShard, ()) {
  const Layout layout = *arbitrary::layout();
  const Mesh& mesh = layout.mesh();
  RC_PRE(mesh.axes() == 2);
  const Placement first = layout.placements()[0];
  const Placement second = layout.placements()[1];
  RC_PRE((first.is_replicate() || first.dim != second.dim));
  std::vector<Rank> transposed;
  for (std::int64_t j = 0; j < mesh.extents()[1]; ++j) {
    for (std::int64_t i = 0; i < mesh.extents()[0]; ++i) {
      transposed.push_back(mesh.ranks()[static_cast<std::size_t>(i * mesh.extents()[1] + j)]);
    }
  }
  const Mesh turned = *Mesh::make({mesh.extents()[1], mesh.extents()[0]}, transposed);
  const Layout permuted = *Layout::make(layout.shape(), turned, {second, first});
  for (std::size_t index = 0; index < mesh.size(); ++index) {
    const std::size_t other = turned.index_of(mesh.ranks()[index]).value();
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
      RC_ASSERT(permuted.piece(other, dim) == layout.piece(index, dim));
    }
  }
}

TEST(Layout, ATensorWithoutDimsHasOneElementOnEveryRank) {
  const Layout layout = *Layout::make({}, *Mesh::consecutive({3}, 0), {Placement::replicate()});
  EXPECT_EQ(layout.shards(), 1u);
  EXPECT_EQ(layout.replica_count(), 3u);
  EXPECT_EQ(layout.local_elements(2), 1);
  EXPECT_EQ(layout.owned_elements(2), 1);
  EXPECT_FALSE(Layout::make({}, *Mesh::consecutive({3}, 0), {Placement::shard(0)}).ok());
}

TEST(Layout, AZeroExtentIsAnOrdinaryValue) {
  const Layout layout =
      *Layout::make({0, 4}, *Mesh::consecutive({2, 2}, 0), {Placement::shard(0), Placement::shard(1)});
  EXPECT_EQ(layout.local_shape(3), (Shape{0, 2}));
  EXPECT_EQ(layout.local_elements(3), 0);
}

TEST(Layout, IsAValueThatComparesByMeaning) {
  const auto make = [](std::vector<Rank> ranks) {
    return *Layout::make({4}, *Mesh::make({2}, std::move(ranks)), {Placement::shard(0)});
  };
  EXPECT_EQ(make({0, 1}), make({0, 1}));
  EXPECT_NE(make({0, 1}), make({1, 0}));
}

TEST(Layout, ErrorsNameThePlacementAtFault) {
  const Mesh mesh = *Mesh::consecutive({2, 2}, 0);
  const auto position = [&](Shape shape, std::vector<Placement> placements) {
    const Result<Layout> made = Layout::make(std::move(shape), mesh, std::move(placements));
    return made ? -2 : static_cast<int>(made.error().position);
  };
  EXPECT_EQ(position({4}, {Placement::replicate(), Placement::shard(1)}), 1);
  EXPECT_EQ(position({3}, {Placement::replicate(), Placement::shard(0, SplitRule::even)}), 1);
  EXPECT_EQ(position({6}, {Placement::shard(0, SplitRule::even), Placement::shard(0, SplitRule::even)}), 1);
  EXPECT_EQ(position({4}, {Placement::cuts(0, {2, 2}), Placement::shard(0)}), 0);
  EXPECT_EQ(position({4}, {Placement::shard(0), Placement::cuts(0, {2, 2})}), 1);
  EXPECT_EQ(position({4}, {Placement::shard(0), Placement::shard(0, SplitRule::balanced)}), 0);
  EXPECT_EQ(position({4}, {Placement::padded(0, 0), Placement::replicate()}), 0);
  EXPECT_EQ(position({4}, {Placement::strided(0, 0), Placement::replicate()}), 0);
  EXPECT_EQ(position({4}, {Placement::segments(0, {3}), Placement::replicate()}), 0);
  EXPECT_EQ(position({4}, {Placement::segments(0, {5, -1}), Placement::replicate()}), 0);
  EXPECT_EQ(position({4}, {Placement::replicate()}), -1);  // as many placements as axes: no single one is at fault
}

TEST(CheckedElements, RefusesWhatDoesNotFit) {
  EXPECT_EQ(*checked_elements(Shape{}), 1);
  EXPECT_EQ(*checked_elements(Shape{INT64_MAX}), INT64_MAX);
  EXPECT_EQ(*checked_elements(Shape{INT64_MAX, 0}), 0);
  EXPECT_FALSE(checked_elements(Shape{INT64_MAX, 2}).ok());
  EXPECT_FALSE(checked_elements(Shape{INT64_MAX, 0, 2}).ok());
  EXPECT_FALSE(checked_elements(Shape{-1}).ok());
  EXPECT_FALSE(checked_elements(Shape(9, 1)).ok());
}

}  // namespace
}  // namespace reshardcheck
