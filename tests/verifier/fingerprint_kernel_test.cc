// Goal: which instruction set ran never shows. Method: every kernel of this machine, on pieces of every offset and
// length between two unreadable pages, against the plain functions word by word.
#include "verifier/fingerprint_kernel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/verifier/fingerprint_test_layouts.h"
#include "verifier/fingerprint_key.h"

namespace reshardcheck {
namespace {

using fingerprint_tests::random_bytes;
using fingerprint_tests::test_key;

FingerprintSums plain_sums(const FingerprintTables& tables, const FingerprintPiece& piece) {
  FingerprintSums sums;
  for (std::uint32_t i = 0; i < piece.bytes; ++i) {  // byte by byte: a word is the sum of its bytes
    const std::uint32_t at = piece.offset + i;
    add_word(sums, tables, at / 4, static_cast<std::uint32_t>(piece.data[i]) << (8 * (at % 4)));
  }
  return sums;
}

/// Memory of whole pages with an unreadable page before and after.
class FencedMemory {
 public:
  explicit FencedMemory(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), bytes_(bytes) {
    all_ = static_cast<std::byte*>(
        mmap(nullptr, bytes + 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(all_, page_, PROT_NONE);
    mprotect(all_ + page_ + bytes, page_, PROT_NONE);
  }
  ~FencedMemory() { munmap(all_, bytes_ + 2 * page_); }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;
  [[nodiscard]] std::byte* begin() const { return all_ + page_; }
  [[nodiscard]] std::byte* end() const { return begin() + bytes_; }

 private:
  std::size_t page_;
  std::size_t bytes_;
  std::byte* all_;
};

void expect_plain(const FingerprintKernel& kernel, const FingerprintTables& tables, const FingerprintPiece& piece) {
  const FingerprintSums expected = plain_sums(tables, piece);
  const FingerprintSums got = kernel.sums(tables, piece);
  for (int k = 0; k < fingerprint_sums; ++k) {
    ASSERT_EQ(got.sum[k], expected.sum[k]) << kernel.name << " at " << piece.offset << " for " << piece.bytes;
  }
}

TEST(FingerprintKernel, EveryKernelGivesTheSumsOfThePlainFunctionsAndReadsNothingOutsideThePiece) {
  const FingerprintKey key(test_key);
  const FencedMemory memory(65'536);
  const auto bytes = random_bytes(65'536, 7);
  std::memcpy(memory.begin(), bytes.data(), bytes.size());
  for (const FingerprintKernel& kernel : fingerprint_kernels()) {
    for (std::uint32_t offset = 0; offset < 200; offset += offset < 70 ? 1 : 13) {
      for (std::uint32_t length = 1; length < 300; length += length < 70 ? 1 : 17) {
        expect_plain(kernel, key.tables(), {memory.begin(), offset, length, 0});
        expect_plain(kernel, key.tables(), {memory.end() - length, offset, length, 4096});
      }
    }
    for (std::uint32_t offset = 0; offset < fingerprint_block_bytes; offset += 61) {
      expect_plain(
          kernel, key.tables(),
          {memory.end() - (fingerprint_block_bytes - offset), offset, fingerprint_block_bytes - offset, -4096});
    }
  }
}

TEST(FingerprintKernel, TheSumsOfABlockOfOnesAndLargestCoefficientsDoNotOverflow) {
  auto tables = std::make_unique<FingerprintTables>();
  std::fill_n(&tables->rows[0][0][0][0], sizeof(tables->rows) / 8, (std::uint64_t{1} << 23) - 1);
  const fingerprint_tests::Bytes ones(fingerprint_block_bytes, std::byte{0xFF});
  __extension__ const unsigned __int128 exact =
      static_cast<unsigned __int128>((1u << 23) - 1) * 0xFFFFFFFFu * fingerprint_block_words;
  ASSERT_EQ(static_cast<std::uint64_t>(exact >> 64), 0u);
  for (const FingerprintKernel& kernel : fingerprint_kernels()) {
    EXPECT_EQ(kernel.sums(*tables, {ones.data(), 0, fingerprint_block_bytes, 0}).sum[2],
              static_cast<std::uint64_t>(exact));
  }
}

TEST(FingerprintKernel, ThePortableKernelIsAlwaysThere) { EXPECT_EQ(fingerprint_kernels().front().name, "portable"); }

}  // namespace
}  // namespace reshardcheck
