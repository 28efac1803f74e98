// Local buffers: where the local tensors of a rank lie, and the walks and patterns that the checks stand on.
#include "verifier/local_buffers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "tests/core/plan/generated_layouts.h"
#include "tests/verifier/hand_ranks.h"
#include "verifier/background.h"
#include "verifier/stretches.h"

namespace reshardcheck {
namespace {

/// Strides of a local tensor whose rows lie `gap` apart.
std::vector<std::int64_t> strides_of(const Shape& shape, std::int64_t gap) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
    if (dim + 1 == shape.size()) stride += gap;
  }
  return strides;
}

RC_GTEST_PROP(Stretches, VisitEveryElementOfAShardOnceInLocalOrder, ()) {
  const LayoutPair pair = *layout_pairs();
  const Layout& layout = pair.source;
  const std::int64_t gap = *rc::gen::inRange(0, 3);
  for (std::size_t m = 0; m < layout.mesh().size(); ++m) {
    LocalTensor local;
    local.mesh_index = m;
    local.shape = layout.local_shape(m);
    local.strides = strides_of(local.shape, layout.dims() > 1 ? gap : 0);
    std::map<std::int64_t, std::int64_t> expected;  // local offset -> global index
    HandSubject::for_each_element(layout, local,
                                  [&](std::int64_t offset, std::int64_t index) { expected[offset] = index; });
    std::map<std::int64_t, std::int64_t> visited;
    std::int64_t end = 0;
    for_each_stretch(layout, m, local.strides, [&](const Stretch& stretch) {
      RC_ASSERT(stretch.local_offset >= end);
      end = stretch.local_offset + stretch.count;
      for (std::int64_t i = 0; i < stretch.count; ++i) visited[stretch.local_offset + i] = stretch.global_index + i;
    });
    RC_ASSERT(visited == expected);
  }
}

TEST(Stretches, OfAShardOfWholeRowsAreOne) {
  const Case value = parsed_case("u8[8,5,3] 2@0 S(0) -> 2@2 S(2)");
  int stretches = 0;
  const std::vector<std::int64_t> strides{15, 3, 1};
  for_each_stretch(value.tensors[0].source, 1, strides, [&](const Stretch& stretch) {
    EXPECT_EQ(stretch.global_index, 60);
    EXPECT_EQ(stretch.count, 60);
    stretches += 1;
  });
  EXPECT_EQ(stretches, 1);
}

TEST(LocalBuffers, KeepBlocksApartAlignedAndGuarded) {
  HandRanks ranks(
      parsed_case("u8[5,3] 2@0 S(0) -> 3@0 S(1) ; f64[7] 2@0 S(0,pad=4) -> 2@1 R ; bf16[] 1@0 R -> 1@0 R | gap=3"));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::byte* end = nullptr;
    for (const LocalBlock& block : ranks[rank].buffers().blocks()) {
      const int width = width_bytes(ranks.value().tensors[block.tensor].dtype);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 64, 0u);
      EXPECT_GE(block.block_bytes, block.footprint_elements * width + 2 * guard_bytes);
      EXPECT_TRUE(end == nullptr || block.block == end);
      end = block.block + block.block_bytes;
    }
  }
}

TEST(LocalBuffers, SetRowsApartByTheGap) {
  HandRanks ranks(parsed_case("u8[4,6,5] 2@0 S(1) -> 1@2 R | gap=3"));
  EXPECT_EQ(ranks.source(0, 0).strides, (std::vector<std::int64_t>{24, 8, 1}));
  EXPECT_EQ(ranks.target(2, 0).strides, (std::vector<std::int64_t>{48, 8, 1}));
  EXPECT_EQ(ranks[2].buffers().blocks()[0].footprint_elements, 4 * 48 - 3);
  EXPECT_FALSE(ranks.source(2, 0).present());
  EXPECT_EQ(ranks.source(2, 0).data, nullptr);
}

TEST(LocalBuffers, LeaveOneDimContiguous) {
  HandRanks ranks(parsed_case("u8[4] 2@0 S(0) -> 1@2 R | gap=3"));
  EXPECT_EQ(ranks.target(2, 0).strides, (std::vector<std::int64_t>{1}));
}

TEST(LocalBuffers, CountTheBytesOfAllRanksAsTheyAreLaidOut) {
  for (const char* text :
       {"u8[5,3] 2@0 S(0) -> 3@0 S(1) ; f64[7] 2@0 S(0,pad=4) -> 2@1 R | gap=3", "u8[0,5] 2@0 S(0) -> 2@2 S(1)",
        "u8[] 1@0 R -> 3@5 R", "f32[6,7] 2x2@0 R,S(0) -> 2x2@2 S(1),R"}) {
    HandRanks ranks(parsed_case(text));
    std::int64_t bytes = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) bytes += ranks[rank].bytes();
    EXPECT_EQ(LocalBuffers::bytes_of_all_ranks(ranks.value()).value(), bytes) << text;
  }
}

TEST(LocalBuffers, SayWhenTheBytesOverflow) {
  const Case value = parsed_case("f64[1000000000,1000000000] 1@0 R -> 64x64@1 R,R");
  EXPECT_FALSE(LocalBuffers::bytes_of_all_ranks(value).ok());
}

TEST(Background, ShowsAnyChangedByteAndNothingElse) {
  std::vector<std::byte> block(100);
  for (const auto& [begin, end] : {std::pair{0, 100}, {3, 97}, {8, 9}, {17, 22}, {50, 50}}) {
    std::fill(block.begin(), block.end(), std::byte{0});
    const BackgroundRange range{block.data(), begin, end};
    write_background(range, 12345);
    EXPECT_EQ(first_changed(range, 12345), end);
    for (int at = 0; at < 100; ++at) {
      block[static_cast<std::size_t>(at)] ^= std::byte{0x40};
      EXPECT_EQ(first_changed(range, 12345), at >= begin && at < end ? at : end);
      block[static_cast<std::size_t>(at)] ^= std::byte{0x40};
    }
  }
}

TEST(Background, OfAnotherKeyOrPlaceIsAnother) {
  std::vector<std::byte> block(64);
  write_background({block.data(), 0, 64}, 1);
  EXPECT_NE(first_changed({block.data(), 0, 64}, 2), 64);
  std::rotate(block.begin(), block.begin() + 8, block.end());
  EXPECT_NE(first_changed({block.data(), 0, 64}, 1), 64);
}

}  // namespace
}  // namespace reshardcheck
