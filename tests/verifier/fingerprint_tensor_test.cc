// Goal: the digest says "the same tensor" for every layout and never for another tensor.
// Method: invariance over drawn pairs of layouts; sensitivity exhaustively on a small tensor and at random on larger
// ones; digests frozen so that files written by one release compare with those of the next.
#include "verifier/fingerprint_tensor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "tests/verifier/fingerprint_test_layouts.h"

namespace reshardcheck {
namespace {

using namespace fingerprint_tests;

FingerprintState state_of(const FingerprintKey& key, const Bytes& tensor, const Shape& shape, DType dtype) {
  const Layout layout = whole(shape);
  return fingerprint_of_shard(key, {&layout, 0, dtype, tensor.data(), {}});
}

RC_GTEST_PROP(FingerprintTensor, AnyTwoLayoutsOfATensorGiveOneState, ()) {
  const FingerprintKey key(test_key);
  const Shape shape = draw_shape();
  const DType dtype = draw_dtype();
  const Bytes tensor = random_tensor(shape, dtype, *rc::gen::arbitrary<std::uint64_t>());
  const Layout source = draw_layout(shape);
  const Layout target = draw_layout(shape);
  RC_LOG() << source.text() << " -> " << target.text();
  const FingerprintState expected = state_of(key, tensor, shape, dtype);
  RC_ASSERT(state_under(key, tensor, source, dtype) == expected);
  RC_ASSERT(state_under(key, tensor, target, dtype, draw(0, 3)) == expected);
}

RC_GTEST_PROP(FingerprintTensor, AnyLayoutOfATensorOfManyBlocksGivesOneState, ()) {
  const FingerprintKey key(test_key);
  const Shape shape = {draw(1, 40), draw(1, 500)};
  const DType dtype = draw_dtype();
  const Bytes tensor = random_tensor(shape, dtype, *rc::gen::arbitrary<std::uint64_t>());
  const Layout layout = draw_layout(shape);
  RC_ASSERT(state_under(key, tensor, layout, dtype, draw(0, 3)) == state_of(key, tensor, shape, dtype));
}

RC_GTEST_PROP(FingerprintTensor, EveryReplicaOfAShardHasTheStateOfItsGroup, ()) {
  const FingerprintKey key(test_key);
  const Shape shape = draw_shape();
  const Bytes tensor = random_tensor(shape, DType::bf16, 1);
  const Layout layout = draw_layout(shape);
  std::vector<FingerprintState> by_shard(layout.shards());
  for (std::size_t i = 0; i < layout.mesh().size(); ++i) {
    const LocalShard shard = deal(tensor, layout, i, DType::bf16);
    const FingerprintState state =
        fingerprint_of_shard(key, {&layout, i, DType::bf16, shard.memory.data(), shard.strides});
    if (replica_place(layout, i) == 0) {
      by_shard[layout.shard_of(i)] = state;
    } else {
      RC_ASSERT(state == by_shard[layout.shard_of(i)]);
    }
  }
}

TEST(FingerprintTensor, CountingReplicasTwiceIsNotTheTensor) {
  const FingerprintKey key(test_key);
  const Layout layout =
      *Layout::make({8, 8}, *Mesh::consecutive({2, 2}, 0), {Placement::shard(0), Placement::replicate()});
  const Bytes tensor = random_tensor({8, 8}, DType::u8, 5);
  FingerprintState once;
  FingerprintState all;
  for (std::size_t i = 0; i < 4; ++i) {
    const LocalShard shard = deal(tensor, layout, i, DType::u8);
    const FingerprintState state = fingerprint_of_shard(key, {&layout, i, DType::u8, shard.memory.data(), {}});
    merge(all, state);
    if (replica_place(layout, i) == 0) merge(once, state);
  }
  EXPECT_EQ(once, state_of(key, tensor, {8, 8}, DType::u8));
  EXPECT_FALSE(all == once);
}

TEST(FingerprintTensor, AnyTransposedOrReversedViewIsReadThroughItsStrides) {
  const FingerprintKey key(test_key);
  const Shape shape = {37, 29};
  const Bytes tensor = random_tensor(shape, DType::u16, 9);
  Bytes transposed(tensor.size());
  Bytes reversed(tensor.size());
  for (std::size_t row = 0; row < 37; ++row) {
    for (std::size_t column = 0; column < 29; ++column) {
      std::copy_n(tensor.begin() + static_cast<std::ptrdiff_t>(2 * (row * 29 + column)), 2,
                  transposed.begin() + static_cast<std::ptrdiff_t>(2 * (column * 37 + row)));
      std::copy_n(tensor.begin() + static_cast<std::ptrdiff_t>(2 * (row * 29 + column)), 2,
                  reversed.begin() + static_cast<std::ptrdiff_t>(2 * ((36 - row) * 29 + column)));
    }
  }
  const Layout layout = whole(shape);
  const std::vector<std::int64_t> column_major = {1, 37};
  const std::vector<std::int64_t> upwards = {-29, 1};
  const FingerprintState expected = state_of(key, tensor, shape, DType::u16);
  EXPECT_EQ(fingerprint_of_shard(key, {&layout, 0, DType::u16, transposed.data(), column_major}), expected);
  EXPECT_EQ(fingerprint_of_shard(key, {&layout, 0, DType::u16, reversed.data() + 2 * 36 * 29, upwards}), expected);
}

TEST(FingerprintTensor, EverySingleBitOfASmallTensorMatters) {
  const FingerprintKey key(test_key);
  for (const Bytes& start : {Bytes(600, std::byte{0}), random_bytes(600, 4), Bytes(600, std::byte{0xFF})}) {
    Bytes tensor = start;
    std::set<std::string> seen = {fingerprint_digest(key, state_of(key, tensor, {600}, DType::u8), "u8", Shape{600})};
    for (std::size_t bit = 0; bit < 8 * tensor.size(); ++bit) {
      tensor[bit / 8] ^= std::byte{1} << (bit % 8);
      seen.insert(fingerprint_digest(key, state_of(key, tensor, {600}, DType::u8), "u8", Shape{600}));
      tensor[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(seen.size(), 8 * tensor.size() + 1);
  }
}

TEST(FingerprintTensor, EveryExchangeOfTwoElementsOrRowsOrColumnsOfASmallTensorMatters) {
  const FingerprintKey key(test_key);
  const Shape shape = {12, 10};
  const Bytes tensor = random_tensor(shape, DType::u16, 8);
  const FingerprintState before = state_of(key, tensor, shape, DType::u16);
  const auto swapped = [&](std::size_t first, std::size_t second, std::size_t count, std::size_t step) {
    Bytes other = tensor;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t byte = 0; byte < 2; ++byte) {
        std::swap(other[2 * (first + i * step) + byte], other[2 * (second + i * step) + byte]);
      }
    }
    return other;
  };
  const auto expect_seen = [&](const Bytes& other) {
    EXPECT_EQ(state_of(key, other, shape, DType::u16) == before, other == tensor);
  };
  for (std::size_t a = 0; a < 120; ++a) {
    for (std::size_t b = a + 1; b < 120; ++b) expect_seen(swapped(a, b, 1, 1));
  }
  for (std::size_t a = 0; a < 12; ++a) {
    for (std::size_t b = a + 1; b < 12; ++b) expect_seen(swapped(10 * a, 10 * b, 10, 1));
  }
  for (std::size_t a = 0; a < 10; ++a) {
    for (std::size_t b = a + 1; b < 10; ++b) expect_seen(swapped(a, b, 12, 10));
  }
}

RC_GTEST_PROP(FingerprintTensor, ExchangingTheShardsOfTwoRanksMattersWhenTheyDiffer, ()) {
  const FingerprintKey key(test_key);
  const std::int64_t ranks = draw(2, 6);
  const std::int64_t rows = ranks * draw(1, 9);
  const Shape shape = {rows, draw(1, 300)};
  const Layout layout = *Layout::make(shape, *Mesh::consecutive({ranks}, 0), {Placement::shard(0)});
  const Bytes tensor = random_tensor(shape, DType::bf16, *rc::gen::arbitrary<std::uint64_t>());
  std::vector<LocalShard> shards;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i)
    shards.push_back(deal(tensor, layout, i, DType::bf16));
  const auto a = static_cast<std::size_t>(draw(0, ranks - 2));
  const auto b = static_cast<std::size_t>(draw(static_cast<std::int64_t>(a) + 1, ranks - 1));
  RC_PRE(shards[a].memory != shards[b].memory);
  std::swap(shards[a].memory, shards[b].memory);
  FingerprintState total;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    merge(total, fingerprint_of_shard(key, {&layout, i, DType::bf16, shards[i].memory.data(), {}}));
  }
  RC_ASSERT(!(total == state_of(key, tensor, shape, DType::bf16)));
}

RC_GTEST_PROP(FingerprintTensor, AnyFlippedBitOrExchangedPairOfALargeTensorMatters, ()) {
  const FingerprintKey key(test_key);
  const Shape shape = {draw(200'000, 1'200'000)};
  Bytes tensor = random_tensor(shape, DType::u16, 2);
  const FingerprintState before = state_of(key, tensor, shape, DType::u16);
  const auto a = static_cast<std::size_t>(draw(0, shape[0] - 1));
  const auto b = static_cast<std::size_t>(draw(0, shape[0] - 1));
  if (*rc::gen::arbitrary<bool>()) {
    tensor[2 * a] ^= std::byte{1} << *rc::gen::inRange(0, 8);
  } else {
    RC_PRE(tensor[2 * a] != tensor[2 * b]);
    std::swap(tensor[2 * a], tensor[2 * b]);
    std::swap(tensor[2 * a + 1], tensor[2 * b + 1]);
  }
  RC_ASSERT(!(state_of(key, tensor, shape, DType::u16) == before));
}

TEST(FingerprintTensor, BlocksAndNeighbourhoodsThatTradePlacesAreSeen) {
  const FingerprintKey key(test_key);
  constexpr std::size_t neighbourhood = 256 * fingerprint_block_bytes;
  const Bytes tensor = random_bytes(3 * neighbourhood, 6);
  const Shape shape = {3 * neighbourhood};
  const FingerprintState before = state_of(key, tensor, shape, DType::u8);
  for (const std::size_t unit :
       {std::size_t{4}, std::size_t{64}, std::size_t{fingerprint_block_bytes}, neighbourhood}) {
    for (const std::size_t other : {unit, std::size_t{2 * neighbourhood}}) {
      Bytes swapped = tensor;
      std::swap_ranges(swapped.begin(), swapped.begin() + static_cast<std::ptrdiff_t>(unit),
                       swapped.begin() + static_cast<std::ptrdiff_t>(other));
      EXPECT_FALSE(state_of(key, swapped, shape, DType::u8) == before) << unit << " " << other;
    }
  }
}

TEST(FingerprintTensor, DtypeAndShapeAreInTheDigest) {
  const FingerprintKey key(test_key);
  const FingerprintState zeros;  // of any tensor of zeros
  std::set<std::string> seen;
  std::size_t headers = 0;
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{1}, Shape{16}, Shape{4, 4}, Shape{16, 1}, Shape{1, 16}, Shape{2, 8}}) {
      seen.insert(fingerprint_digest(key, zeros, name(dtype), shape));
      ++headers;
    }
  }
  EXPECT_EQ(seen.size(), headers);
}

TEST(FingerprintTensor, SignedZerosAndNanPayloadsAreDifferentBits) {
  const FingerprintKey key(test_key);
  const auto digest = [&](float value) {
    Bytes bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    return state_of(key, bytes, {1}, DType::f32);
  };
  EXPECT_FALSE(digest(0.0f) == digest(-0.0f));
}

RC_GTEST_PROP(FingerprintTensor, TheRangesOfAnyPartitionAddUpToTheShard, ()) {
  const FingerprintKey key(test_key);
  const Shape shape = {draw(1, 30), draw(1, 30), draw(1, 30)};
  const Layout layout = draw_layout(shape);
  const Bytes tensor = random_tensor(shape, DType::u16, 11);
  const auto index = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(layout.mesh().size()) - 1));
  const LocalShard shard = deal(tensor, layout, index, DType::u16, draw(0, 2));
  const ShardView view{&layout, index, DType::u16, shard.memory.data(), shard.strides};
  FingerprintState sum;
  for (std::int64_t begin = 0; begin < elements(shape);) {
    const std::int64_t end = begin + draw(1, elements(shape));
    merge(sum, fingerprint_of_shard(key, view, {Interval{begin, end}, 1}));
    begin = end;
  }
  RC_ASSERT(sum == fingerprint_of_shard(key, view));
}

TEST(FingerprintTensor, AnyNumberOfThreadsGivesTheSameState) {
  const FingerprintKey key(test_key);
  const Shape shape = {6000, 4000};
  const Layout layout = *Layout::make(shape, *Mesh::consecutive({2}, 0), {Placement::shard(1)});
  const Bytes memory = random_bytes(6000 * 2000 * 2, 12);
  const ShardView view{&layout, 1, DType::bf16, memory.data(), {}};
  const FingerprintState alone = fingerprint_of_shard(key, view);
  for (const int threads : {0, 2, 3, 8}) EXPECT_EQ(fingerprint_of_shard(key, view, {std::nullopt, threads}), alone);
}

TEST(FingerprintTensor, DigestsAreTheSameForEver) {
  const FingerprintKey key(test_key);
  const Shape shape = {3, 1'000};
  const Bytes tensor = random_tensor(shape, DType::bf16, 1);
  EXPECT_EQ(fingerprint_digest(key, state_of(key, tensor, shape, DType::bf16), "bf16", shape),
            "1c7f5918488f73281facacc919b32aa1");
  EXPECT_EQ(fingerprint_digest(FingerprintKey({}), {}, "f32", Shape{0}), "0dc5d68870f0f64f11c4781a65648f4b");
}

}  // namespace
}  // namespace reshardcheck
