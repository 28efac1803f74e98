// The arithmetic of the fingerprint, as plain inline functions on plain data.
//
// fingerprint.h states the function and its proof; here it is, in the simplest form there is. No memory is
// allocated and nothing but fixed-width integers is used, so the same code runs on the host, in Thrust's host back end
// and inside CUDA kernels (copy FingerprintTables to the device). The vector kernels are held against it.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define RESHARDCHECK_HOST_DEVICE __host__ __device__
#else
#define RESHARDCHECK_HOST_DEVICE
#endif

namespace reshardcheck {

inline constexpr std::uint64_t fingerprint_prime = (std::uint64_t{1} << 61) - 1;
inline constexpr int fingerprint_word_bytes = 4;
inline constexpr int fingerprint_row_bytes = 64;  // what a wide vector holds
inline constexpr int fingerprint_block_rows = 32;
inline constexpr int fingerprint_block_bytes = fingerprint_row_bytes * fingerprint_block_rows;
inline constexpr int fingerprint_block_words = fingerprint_block_bytes / fingerprint_word_bytes;
inline constexpr int fingerprint_sums = 3;    // exact sums of a block
inline constexpr int fingerprint_levels = 6;  // bytes of the block number above the lowest

/// The contribution of a part of a tensor; parts add up. Lanes are residues, always below the prime.
struct FingerprintState {
  std::uint64_t lane[2] = {0, 0};

  RESHARDCHECK_HOST_DEVICE friend bool operator==(const FingerprintState& a, const FingerprintState& b) {
    return a.lane[0] == b.lane[0] && a.lane[1] == b.lane[1];
  }
};

/// S[0..2] of fingerprint.h for one block, or for a piece of one.
struct FingerprintSums {
  std::uint64_t sum[fingerprint_sums] = {0, 0, 0};
};

/// All random coefficients. T of word j lies at rows[j / 16][k][j % 2][j % 16 / 2]: even and odd words apart, widened
/// to 64 bits, as the 32x32->64 bit vector multiplications want their operands.
struct alignas(64) FingerprintTables {
  std::uint64_t rows[fingerprint_block_rows][fingerprint_sums][2][8];
  std::uint64_t blocks[256][2][fingerprint_sums];    // U, by the lowest byte of the block number
  std::uint64_t levels[fingerprint_levels][256][2];  // V, by each byte above it
};

/// a + b modulo the prime, of residues.
RESHARDCHECK_HOST_DEVICE inline std::uint64_t add_residues(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= fingerprint_prime ? sum - fingerprint_prime : sum;
}

/// The residue of high * 2^64 + low. 2^61 is 1, so the number is the sum of its digits base 2^61.
RESHARDCHECK_HOST_DEVICE inline std::uint64_t reduce(std::uint64_t high, std::uint64_t low) {
  const std::uint64_t sum = (low & fingerprint_prime) + ((low >> 61 | high << 3) & fingerprint_prime) + (high >> 58);
  const std::uint64_t folded = (sum & fingerprint_prime) + (sum >> 61);
  return folded >= fingerprint_prime ? folded - fingerprint_prime : folded;
}

/// a * b modulo the prime; any a, b below 2^64.
RESHARDCHECK_HOST_DEVICE inline std::uint64_t multiply_residues(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
  return reduce(__umul64hi(a, b), a * b);
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return reduce(static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product));
#endif
}

/// a += b.
RESHARDCHECK_HOST_DEVICE inline void merge(FingerprintState& into, const FingerprintState& other) {
  into.lane[0] = add_residues(into.lane[0], other.lane[0]);
  into.lane[1] = add_residues(into.lane[1], other.lane[1]);
}

/// Adds one word at its place (0 to 511) in a block.
RESHARDCHECK_HOST_DEVICE inline void add_word(FingerprintSums& sums, const FingerprintTables& tables, unsigned place,
                                              std::uint32_t word) {
  for (int k = 0; k < fingerprint_sums; ++k) {
    sums.sum[k] += tables.rows[place / 16][k][place % 2][place % 16 / 2] * word;
  }
}

/// U: what the sums of a block come to, before the weight of the block's neighbourhood.
RESHARDCHECK_HOST_DEVICE inline std::uint64_t mix_sums(const FingerprintTables& tables, std::uint64_t block, int lane,
                                                       const FingerprintSums& sums) {
  const std::uint64_t* factor = tables.blocks[block & 255][lane];
#if defined(__CUDA_ARCH__)
  return add_residues(
      add_residues(multiply_residues(sums.sum[0], factor[0]), multiply_residues(sums.sum[1], factor[1])),
      multiply_residues(sums.sum[2], factor[2]));
#else
  __extension__ using Wide = unsigned __int128;  // three products below 2^125
  const Wide total = static_cast<Wide>(sums.sum[0]) * factor[0] + static_cast<Wide>(sums.sum[1]) * factor[1] +
                     static_cast<Wide>(sums.sum[2]) * factor[2];
  return reduce(static_cast<std::uint64_t>(total >> 64), static_cast<std::uint64_t>(total));
#endif
}

/// W: the weight of the 256 blocks that share `block >> 8`.
RESHARDCHECK_HOST_DEVICE inline std::uint64_t neighbourhood_weight(const FingerprintTables& tables, std::uint64_t block,
                                                                   int lane) {
  std::uint64_t weight = 1;
  std::uint64_t rest = block >> 8;
  for (int level = 0; level < fingerprint_levels && rest != 0; ++level, rest >>= 8) {
    if ((rest & 255) != 0) weight = multiply_residues(weight, tables.levels[level][rest & 255][lane]);
  }
  return weight;
}

/// The contribution of a block, or of a piece of one, from its sums.
RESHARDCHECK_HOST_DEVICE inline FingerprintState contribution(const FingerprintTables& tables, std::uint64_t block,
                                                              const FingerprintSums& sums) {
  FingerprintState state;
  for (int lane = 0; lane < 2; ++lane) {
    state.lane[lane] =
        multiply_residues(neighbourhood_weight(tables, block, lane), mix_sums(tables, block, lane, sums));
  }
  return state;
}

/// Functor for transform_reduce over the blocks of a run that starts at block `first_block` of the tensor:
/// item i is the contribution of the run's i-th block. The run's last block may be a partial one.
struct BlockFingerprint {
  const FingerprintTables* tables = nullptr;
  const std::uint32_t* words = nullptr;
  std::uint64_t word_count = 0;
  std::uint64_t first_block = 0;

  RESHARDCHECK_HOST_DEVICE FingerprintState operator()(std::uint64_t i) const {
    FingerprintSums sums;
    const std::uint64_t begin = i * fingerprint_block_words;
    const std::uint64_t left = word_count - begin;
    const unsigned count = left < fingerprint_block_words ? static_cast<unsigned>(left) : fingerprint_block_words;
    for (unsigned place = 0; place < count; ++place) add_word(sums, *tables, place, words[begin + place]);
    return contribution(*tables, first_block + i, sums);
  }
};

/// Functor for the reduction.
struct MergeFingerprints {
  RESHARDCHECK_HOST_DEVICE FingerprintState operator()(FingerprintState a, const FingerprintState& b) const {
    merge(a, b);
    return a;
  }
};

}  // namespace reshardcheck
