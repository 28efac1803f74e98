// The inner loop of the fingerprint, once per instruction set.
//
// A kernel adds runs of bytes to an accumulator: the three exact sums of each piece of a block are its own code,
// everything around them is common. All kernels give the same numbers for the same bytes (a test holds each against
// the plain functions), so which one ran never shows in a digest.
#pragma once

#include <string_view>
#include <vector>

#include "verifier/fingerprint_accumulator.h"

namespace reshardcheck {

struct FingerprintKernel {
  std::string_view name;  // "portable", "avx2", "avx512"
  FingerprintSums (*sums)(const FingerprintTables& tables, const FingerprintPiece& piece) = nullptr;
  void (*add)(const FingerprintTables& tables, const FingerprintRuns& runs, FingerprintAccumulator& into) = nullptr;
};

/// The kernels that this machine can run, slowest first; "portable" is always there.
std::vector<FingerprintKernel> fingerprint_kernels();

}  // namespace reshardcheck
