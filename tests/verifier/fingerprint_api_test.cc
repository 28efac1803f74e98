// Goal: the C interface gives what the C++ one gives, and refuses every misuse with a reason instead of crashing.
#include "verifier/fingerprint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>

#include "tests/verifier/fingerprint_test_layouts.h"

extern "C" int fingerprint_from_c(void);

namespace reshardcheck {
namespace {

using namespace fingerprint_tests;

struct FreeKey {
  void operator()(reshardcheck_fingerprint_key* key) const { reshardcheck_fingerprint_key_free(key); }
};
using KeyPointer = std::unique_ptr<reshardcheck_fingerprint_key, FreeKey>;

KeyPointer new_key() { return KeyPointer(reshardcheck_fingerprint_key_new(test_key.data())); }

TEST(FingerprintApi, ACProgramCanUseIt) { EXPECT_EQ(fingerprint_from_c(), 0); }

RC_GTEST_PROP(FingerprintApi, TheSumOverAllRanksOfALayoutIsTheTensorsState, ()) {
  const FingerprintKey key(test_key);
  const KeyPointer c_key = new_key();
  const Shape shape = draw_shape();
  const DType dtype = draw_dtype();
  const Layout layout = draw_layout(shape);
  const Bytes tensor = random_tensor(shape, dtype, *rc::gen::arbitrary<std::uint64_t>());
  const std::string dtype_name(name(dtype));
  const std::string text = layout.text();
  reshardcheck_fingerprint_state total = {};
  reshardcheck_fingerprint_state by_replicas = {};
  for (Rank rank = 0; rank <= layout.mesh().highest_rank() + 1; ++rank) {
    const auto index = layout.mesh().index_of(rank);
    const LocalShard local = index ? deal(tensor, layout, *index, dtype, 1) : LocalShard{};
    reshardcheck_fingerprint_shard shard = {};
    shard.dtype = dtype_name.c_str();
    shard.dims = shape.size();
    shard.shape = shape.data();
    shard.layout = text.c_str();
    shard.rank = rank;
    shard.data = local.memory.data();
    shard.strides_elements = index ? local.strides.data() : nullptr;
    RC_ASSERT(reshardcheck_fingerprint_add_shard(c_key.get(), &total, &shard, nullptr, nullptr) == 0);
    reshardcheck_fingerprint_state own = {};
    reshardcheck_fingerprint_role role = {};
    RC_ASSERT(reshardcheck_fingerprint_add_shard(c_key.get(), &own, &shard, &role, nullptr) == 0);
    RC_ASSERT((role.shard >= 0) == index.has_value());
    if (role.replica == 0) reshardcheck_fingerprint_merge(&by_replicas, &own);
  }
  const FingerprintState expected = state_under(key, tensor, whole(shape), dtype);
  RC_ASSERT(expected == (FingerprintState{{total.lane[0], total.lane[1]}}));
  RC_ASSERT(expected == (FingerprintState{{by_replicas.lane[0], by_replicas.lane[1]}}));
  char hex[33];
  RC_ASSERT(reshardcheck_fingerprint_digest(c_key.get(), &total, dtype_name.c_str(), shape.size(), shape.data(), hex,
                                            nullptr) == 0);
  RC_ASSERT(hex == fingerprint_digest(key, expected, dtype_name, shape));
}

/// Calls add_shard with a valid shard that `spoil` has changed; the reason it gave, or "accepted".
template <typename Spoil>
std::string reason_for(const Spoil& spoil) {
  static const std::int64_t shape[2] = {4, 3};
  static const std::uint16_t data[12] = {};
  const KeyPointer key = new_key();
  reshardcheck_fingerprint_shard shard = {};
  shard.dtype = "bf16";
  shard.dims = 2;
  shard.shape = shape;
  shard.layout = "2@0 S(0)";
  shard.data = data;
  spoil(shard);
  reshardcheck_fingerprint_state state = {};
  reshardcheck_fingerprint_error error = {};
  const int code = reshardcheck_fingerprint_add_shard(key.get(), &state, &shard, nullptr, &error);
  EXPECT_EQ(state.lane[0], 0u) << "the state was touched";
  return code == 0 ? "accepted" : error.reason;
}

TEST(FingerprintApi, EveryMisuseIsRefusedWithItsReason) {
  using Shard = reshardcheck_fingerprint_shard;
  static const std::int64_t negative[2] = {4, -3};
  static const std::int64_t huge[2] = {std::int64_t{1} << 62, 4};
  EXPECT_EQ(reason_for([](Shard&) {}), "accepted");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.rank = 7; }), "accepted");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.dtype = nullptr; }), "the dtype is a null pointer");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.dtype = "bf17"; }), "unknown dtype 'bf17'");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.dtype = ""; }), "a dtype's name has 1 to 15 bytes");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.shape = nullptr; }), "the shape is a null pointer");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.shape = negative; }), "a dim of extent -3");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.shape = huge; }), "the tensor has more than 2^63 bytes");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.data = nullptr; }),
            "the rank holds elements, but its data is a null pointer");
  EXPECT_EQ(reason_for([](Shard& shard) { shard.end_element = -1; }), "the range of elements is none");
  EXPECT_NE(reason_for([](Shard& shard) { shard.layout = "2@0 S(5)"; }).find("dim 5 does not exist"),
            std::string::npos);
  for (const char* layout : {"", "2@0", "2@0 S(0) -> 2@0 S(0)", "2@0 S(0) via reshard",
                             "2@0 S(0) ; u8[1] 1@0 R -> 1@0 R", "2@0 S(0) | seed=1", "2@0 R,R"}) {
    EXPECT_NE(reason_for([layout](Shard& shard) { shard.layout = layout; }), "accepted") << layout;
  }
}

TEST(FingerprintApi, BytesBeyondTheLastOffsetAndStatesThatAreNoneAreRefused) {
  const KeyPointer key = new_key();
  const char byte = 1;
  reshardcheck_fingerprint_state state = {};
  reshardcheck_fingerprint_error error = {};
  const std::uint64_t end = std::uint64_t{1} << 63;
  EXPECT_EQ(reshardcheck_fingerprint_add_bytes(key.get(), &state, end - 1, &byte, 1, &error), 0);
  EXPECT_EQ(reshardcheck_fingerprint_add_bytes(key.get(), &state, end, &byte, 1, &error), -1);
  EXPECT_STREQ(error.reason, "the bytes reach beyond offset 2^63");
  EXPECT_EQ(reshardcheck_fingerprint_add_bytes(nullptr, &state, 0, &byte, 1, &error), -1);
  EXPECT_EQ(reshardcheck_fingerprint_add_bytes(key.get(), nullptr, 0, &byte, 1, &error), -1);
  EXPECT_EQ(reshardcheck_fingerprint_add_bytes(key.get(), &state, 0, nullptr, 1, nullptr), -1);
  state.lane[1] = ~std::uint64_t{0};
  EXPECT_EQ(reshardcheck_fingerprint_add_bytes(key.get(), &state, 0, &byte, 1, &error), -1);
  EXPECT_STREQ(error.reason, "the state is not one: its lanes are residues modulo 2^61 - 1");
}

}  // namespace
}  // namespace reshardcheck
