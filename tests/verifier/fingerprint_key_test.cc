// Goal: the tables follow from the key alone, by a cipher others have vouched for.
#include "verifier/fingerprint_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace reshardcheck {
namespace {

TEST(FingerprintKey, TheBlockFunctionAgreesWithRfc8439) {
  const std::array<std::uint32_t, 16> input = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, 0x03020100, 0x07060504,
                                               0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c,
                                               0x00000001, 0x09000000, 0x4a000000, 0x00000000};
  const std::array<std::uint32_t, 16> expected = {
      0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
      0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  EXPECT_EQ(chacha20_block(input), expected);
}

TEST(FingerprintKey, CoefficientsLieInTheirRangesAndDoNotRepeat) {
  const FingerprintKey key({});
  const FingerprintTables& tables = key.tables();
  const std::uint64_t* rows = &tables.rows[0][0][0][0];
  const std::size_t row_entries = sizeof(tables.rows) / 8;
  EXPECT_LT(*std::max_element(rows, rows + row_entries), std::uint64_t{1} << 23);
  EXPECT_GT(*std::max_element(rows, rows + row_entries), std::uint64_t{1} << 22);
  const std::uint64_t* blocks = &tables.blocks[0][0][0];
  const std::uint64_t* levels = &tables.levels[0][0][0];
  std::set<std::uint64_t> residues(blocks, blocks + sizeof(tables.blocks) / 8);
  residues.insert(levels, levels + sizeof(tables.levels) / 8);
  EXPECT_LT(*residues.rbegin(), fingerprint_prime);
  // All different, but for the two ones that open each of the six levels.
  EXPECT_EQ(residues.size(), (sizeof(tables.blocks) + sizeof(tables.levels)) / 8 - 12 + 1);
}

TEST(FingerprintKey, OneBitOfTheKeyChangesEveryTable) {
  const FingerprintKey a({});
  const FingerprintKey b({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80});
  EXPECT_NE(std::memcmp(a.tables().rows, b.tables().rows, 64), 0);
  EXPECT_NE(std::memcmp(a.tables().blocks, b.tables().blocks, 64), 0);
  EXPECT_NE(std::memcmp(a.tables().levels[5], b.tables().levels[5], 64), 0);
}

TEST(FingerprintKey, AKeyIsReadFromHexadecimalDigitsAndNothingElse) {
  const Result<FingerprintKeyBytes> key = parse_fingerprint_key("00112233445566778899AABBccddeeff");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ((*key)[1], 0x11);
  EXPECT_EQ((*key)[15], 0xFF);
  EXPECT_FALSE(parse_fingerprint_key("0011").ok());
  EXPECT_FALSE(parse_fingerprint_key("").ok());
  const Result<FingerprintKeyBytes> wrong = parse_fingerprint_key("0011223344556677-899aabbccddeeff");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().position, 16u);
}

}  // namespace
}  // namespace reshardcheck
