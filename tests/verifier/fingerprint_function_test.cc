// Goal: the arithmetic is arithmetic modulo 2^61 - 1, and the functors give what the header's formula says.
// Method: against 128-bit division, and against the formula written out term by term.
#include "verifier/fingerprint_function.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/verifier/fingerprint_test_layouts.h"
#include "verifier/fingerprint_stream.h"

#if __has_include(<thrust/transform_reduce.h>)
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_reduce.h>
#endif

namespace reshardcheck {
namespace {

__extension__ using Wide = unsigned __int128;
using fingerprint_tests::random_bytes;
using fingerprint_tests::test_key;

std::uint64_t modulo(Wide value) { return static_cast<std::uint64_t>(value % fingerprint_prime); }

std::uint64_t draw_word() {
  const std::uint64_t random = *rc::gen::arbitrary<std::uint64_t>();
  const std::vector<std::uint64_t> edges = {
      0, 1, fingerprint_prime - 1, fingerprint_prime, fingerprint_prime + 1, ~std::uint64_t{0}, random, random, random};
  return *rc::gen::elementOf(edges);
}

RC_GTEST_PROP(FingerprintFunction, ReducesEvery128BitNumberAsDivisionDoes, ()) {
  const std::uint64_t high = draw_word();
  const std::uint64_t low = draw_word();
  RC_ASSERT(reduce(high, low) == modulo(static_cast<Wide>(high) << 64 | low));
  RC_ASSERT(multiply_residues(high, low) == modulo(static_cast<Wide>(high) * low));
}

RC_GTEST_PROP(FingerprintFunction, MergingIsAssociativeAndCommutativeWithZeroAsItsNeutralState, ()) {
  const auto draw_state = [] { return FingerprintState{{modulo(draw_word()), modulo(draw_word())}}; };
  const FingerprintState a = draw_state();
  const FingerprintState b = draw_state();
  const FingerprintState c = draw_state();
  const MergeFingerprints merged;
  RC_ASSERT(merged(a, b) == merged(b, a));
  RC_ASSERT(merged(merged(a, b), c) == merged(a, merged(b, c)));
  RC_ASSERT(merged(a, FingerprintState{}) == a);
}

/// fingerprint.h's formula, term by term, for bytes that start at a byte offset.
FingerprintState by_formula(const FingerprintTables& tables, std::uint64_t offset,
                            const std::vector<std::byte>& bytes) {
  FingerprintState state;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t at = offset + i;
    const std::uint64_t block = at / 2048;
    const unsigned place = static_cast<unsigned>(at % 2048 / 4);
    const std::uint64_t value = static_cast<std::uint64_t>(bytes[i]) << (8 * (at % 4));
    for (int lane = 0; lane < 2; ++lane) {
      Wide factor = 0;
      for (int k = 0; k < 3; ++k) {
        factor += static_cast<Wide>(tables.blocks[block & 255][lane][k]) *
                  tables.rows[place / 16][k][place % 2][place % 16 / 2] % fingerprint_prime;
      }
      Wide term = factor % fingerprint_prime * value;
      for (int level = 0; level < 6; ++level) {
        term = term % fingerprint_prime * tables.levels[level][block >> (8 * (level + 1)) & 255][lane];
      }
      state.lane[lane] = modulo(term % fingerprint_prime + state.lane[lane]);
    }
  }
  return state;
}

RC_GTEST_PROP(FingerprintFunction, TheStreamGivesTheFormulaAtEveryOffsetBelowTwoToThe63, ()) {
  const FingerprintKey key(test_key);
  const std::uint64_t offset = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(1, 64);
  const auto bytes = random_bytes(*rc::gen::inRange(0, 5000), *rc::gen::arbitrary<std::uint64_t>());
  FingerprintStream stream(key);
  stream.add(offset, bytes.data(), bytes.size());
  RC_ASSERT(stream.finish() == by_formula(key.tables(), offset, bytes));
}

struct BlockRun {
  std::vector<std::uint32_t> words;
  std::uint64_t first_block;
  FingerprintState expected;
};

BlockRun random_run(const FingerprintKey& key, std::size_t words) {
  const auto bytes = random_bytes(static_cast<std::int64_t>(words) * 4, words);
  BlockRun run{std::vector<std::uint32_t>(words), 250, {}};  // crosses into the next neighbourhood
  std::memcpy(run.words.data(), bytes.data(), bytes.size());
  FingerprintStream stream(key);
  stream.add(run.first_block * fingerprint_block_bytes, bytes.data(), bytes.size());
  run.expected = stream.finish();
  return run;
}

TEST(FingerprintFunction, TheFunctorsReduceToTheStateOfTheStream) {
  const FingerprintKey key(test_key);
  for (const std::size_t words : {std::size_t{1}, std::size_t{512}, std::size_t{513}, std::size_t{20'000}}) {
    const BlockRun run = random_run(key, words);
    const BlockFingerprint block{&key.tables(), run.words.data(), words, run.first_block};
    std::vector<std::uint64_t> items((words + 511) / 512);
    std::iota(items.begin(), items.end(), std::uint64_t{0});
    EXPECT_EQ(std::transform_reduce(items.begin(), items.end(), FingerprintState{}, MergeFingerprints{}, block),
              run.expected);
#if __has_include(<thrust/transform_reduce.h>)
    EXPECT_EQ(thrust::transform_reduce(thrust::host, thrust::counting_iterator<std::uint64_t>(0),
                                       thrust::counting_iterator<std::uint64_t>(items.size()), block,
                                       FingerprintState{}, MergeFingerprints{}),
              run.expected);
#endif
  }
}

}  // namespace
}  // namespace reshardcheck
