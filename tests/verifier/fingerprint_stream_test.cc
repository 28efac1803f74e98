// Goal: any cut of a run adds up, at any byte, in any order.
#include "verifier/fingerprint_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/verifier/fingerprint_test_layouts.h"

namespace reshardcheck {
namespace {

using fingerprint_tests::random_bytes;
using fingerprint_tests::test_key;

RC_GTEST_PROP(FingerprintStream, PiecesInAnyCutAndOrderAddUpToTheWhole, ()) {
  const FingerprintKey key(test_key);
  const std::uint64_t offset = *rc::gen::inRange<std::uint64_t>(0, 2'000'000);
  const auto bytes = random_bytes(*rc::gen::inRange(1, 20'000), *rc::gen::arbitrary<std::uint64_t>());
  FingerprintStream whole(key);
  whole.add(offset, bytes.data(), bytes.size());
  const FingerprintState expected = whole.finish();

  struct Cut {
    std::size_t begin;
    std::size_t end;
    std::uint64_t order;
  };
  std::vector<Cut> cuts;
  const std::size_t longest = *rc::gen::element<std::size_t>(3, 40, 500, 5000);
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.size(), begin + *rc::gen::inRange<std::size_t>(1, longest + 1));
    cuts.push_back({begin, end, *rc::gen::arbitrary<std::uint64_t>()});
    begin = end;
  }
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.order < b.order; });
  FingerprintStream one(key);
  FingerprintState merged;
  for (const Cut& cut : cuts) {
    one.add(offset + cut.begin, bytes.data() + cut.begin, cut.end - cut.begin);
    FingerprintStream alone(key);
    alone.add(offset + cut.begin, bytes.data() + cut.begin, cut.end - cut.begin);
    merge(merged, alone.finish());
  }
  RC_ASSERT(one.finish() == expected);
  RC_ASSERT(merged == expected);
}

TEST(FingerprintStream, EveryKernelGivesTheSameState) {
  const auto bytes = random_bytes(1'300'000, 3);
  std::vector<FingerprintState> states;
  for (const FingerprintKernel& kernel : fingerprint_kernels()) {
    const FingerprintKey key(test_key, kernel);
    FingerprintStream stream(key);
    stream.add(12'345, bytes.data(), bytes.size());
    states.push_back(stream.finish());
  }
  for (const FingerprintState& state : states) EXPECT_EQ(state, states.front());
}

TEST(FingerprintStream, NothingAddedIsTheNeutralState) {
  const FingerprintKey key(test_key);
  FingerprintStream stream(key);
  EXPECT_EQ(stream.finish(), FingerprintState{});
  stream.add(77, nullptr, 0);
  EXPECT_EQ(stream.finish(), FingerprintState{});
}

}  // namespace
}  // namespace reshardcheck
