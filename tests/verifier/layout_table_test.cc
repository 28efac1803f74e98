// Law: tensors that one plan serves are counted together, by layouts, path and width and by nothing else.
#include "verifier/layout_table.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

std::vector<std::pair<std::size_t, std::size_t>> geometries_of(std::string_view text) {
  const Result<Case> value = parse_case(text);
  EXPECT_TRUE(value.ok()) << text;
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (const Geometry& each : distinct_geometries(*value)) result.emplace_back(each.first, each.tensors);
  return result;
}

TEST(DistinctGeometries, CountTensorsThatOnePlanServes) {
  using Geometries = std::vector<std::pair<std::size_t, std::size_t>>;
  EXPECT_EQ(geometries_of("u8[4] 2@0 S(0) -> 1@2 R"), (Geometries{{0, 1}}));
  EXPECT_EQ(geometries_of("a = u8[4] 2@0 S(0) -> 1@2 R ; b = u16[4] 2@0 S(0) -> 1@2 R ; c = i8[4] 2@0 S(0) -> 1@2 R ; "
                          "d = u8[4] 2@0 S(0) -> 1@2 R via gather_broadcast ; e = u8[5] 2@0 S(0) -> 1@2 R ; "
                          "f = u16[4] 2@0 S(0) -> 1@2 R ; g = u8[4] 1@2 R -> 2@0 S(0)"),
            (Geometries{{0, 2}, {1, 2}, {3, 1}, {4, 1}, {6, 1}}));
}

}  // namespace
}  // namespace reshardcheck
