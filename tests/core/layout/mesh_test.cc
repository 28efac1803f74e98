// Goal: a mesh is a bijection between coordinates and its ranks, whatever their order.
#include "core/layout/mesh.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/layout/limits.h"
#include "tests/support/arbitrary_layout.h"

namespace reshardcheck {
namespace {

RC_GTEST_PROP(MeshLaws, IndexOfIsTheInverseOfTheRankList, ()) {
  const Mesh mesh = *arbitrary::mesh();
  std::size_t found = 0;
  for (Rank rank = -1; rank < 64; ++rank) {
    const std::optional<std::size_t> index = mesh.index_of(rank);
    if (!index) continue;
    RC_ASSERT(mesh.ranks()[*index] == rank);
    found += 1;
  }
  RC_ASSERT(found == mesh.size());
}

RC_GTEST_PROP(MeshLaws, CoordinatesAreTheRowMajorDigitsOfTheMeshIndex, ()) {
  const Mesh mesh = *arbitrary::mesh();
  for (std::size_t index = 0; index < mesh.size(); ++index) {
    std::int64_t folded = 0;
    for (std::size_t axis = 0; axis < mesh.axes(); ++axis) {
      const std::int64_t coordinate = mesh.coordinate(index, axis);
      RC_ASSERT((coordinate >= 0 && coordinate < mesh.extents()[axis]));
      folded = folded * mesh.extents()[axis] + coordinate;
    }
    RC_ASSERT(folded == static_cast<std::int64_t>(index));
  }
}

RC_GTEST_PROP(MeshLaws, LowestAndHighestBoundTheRanks, ()) {
  const Mesh mesh = *arbitrary::mesh();
  RC_ASSERT(*std::min_element(mesh.ranks().begin(), mesh.ranks().end()) == mesh.lowest_rank());
  RC_ASSERT(*std::max_element(mesh.ranks().begin(), mesh.ranks().end()) == mesh.highest_rank());
}

TEST(Mesh, PrintsTheShortFormWheneverRanksCountUp) {
  EXPECT_EQ(Mesh::make({2, 2}, {4, 5, 6, 7})->text(), "2x2@4");
  EXPECT_EQ(Mesh::make({4}, {7, 1, 3, 5})->text(), "4{7,1,3,5}");
  EXPECT_EQ(Mesh::make({1}, {9})->text(), "1@9");
  EXPECT_EQ(*Mesh::make({3}, {2, 3, 4}), *Mesh::consecutive({3}, 2));
}

TEST(Mesh, RefusesWhatIsNoGridOfDistinctRanks) {
  EXPECT_FALSE(Mesh::make({}, {}).ok());
  EXPECT_FALSE(Mesh::make({0}, {}).ok());
  EXPECT_FALSE(Mesh::make({-1}, {}).ok());
  EXPECT_FALSE(Mesh::make({2}, {0}).ok());
  EXPECT_FALSE(Mesh::make({2}, {3, 3}).ok());
  EXPECT_FALSE(Mesh::make({3}, {5, 1, 5}).ok());
  EXPECT_FALSE(Mesh::make({1}, {-1}).ok());
  EXPECT_FALSE(Mesh::make({1}, {static_cast<Rank>(limits::max_ranks)}).ok());
  EXPECT_FALSE(Mesh::make(std::vector<std::int64_t>(9, 1), {0}).ok());
  EXPECT_FALSE(Mesh::consecutive({2}, limits::max_ranks - 1).ok());
  EXPECT_FALSE(Mesh::consecutive({INT64_MAX, INT64_MAX}, 0).ok());
  EXPECT_TRUE(Mesh::consecutive({1}, limits::max_ranks - 1).ok());
}

}  // namespace
}  // namespace reshardcheck
