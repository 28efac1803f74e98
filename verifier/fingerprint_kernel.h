// The inner loop of the fingerprint, once per instruction set.
//
// A kernel computes the three exact sums of a piece of a block; everything around it is common code. All kernels
// give the same numbers for the same bytes (a test holds each against the plain functions), so which one ran
// never shows in a digest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "verifier/fingerprint_function.h"

namespace reshardcheck {

/// A piece of one block: `bytes` bytes that stand at `offset` of it, offset + bytes <= the block's size.
struct FingerprintPiece {
  const std::byte* data = nullptr;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::ptrdiff_t prefetch_bytes = 0;  // how far ahead of each row to prefetch; 0: not at all
};

struct FingerprintKernel {
  std::string_view name;  // "portable", "avx2", "avx512"
  FingerprintSums (*sums)(const FingerprintTables& tables, const FingerprintPiece& piece) = nullptr;
};

/// The kernels that this machine can run, slowest first; "portable" is always there.
std::vector<FingerprintKernel> fingerprint_kernels();

}  // namespace reshardcheck
