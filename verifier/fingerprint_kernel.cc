// Rows of 64 bytes against the coefficient table, with 32x32->64 bit multiplications.
//
// A piece may start and end anywhere. Rows are aligned to the block, not to memory: the first and the last row are
// filled up with zeros (masked loads, or a copy), which contribute nothing, and a partial word then stands in its
// word as it would in the whole. Memory is never touched outside the piece, except by prefetches.
#include "verifier/fingerprint_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#if !defined(__clang__)  // GCC 12 warns about the undefined operands inside its own intrinsics (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace reshardcheck {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr std::uint32_t row_bytes = fingerprint_row_bytes;

/// The part of a piece that lies in one row: at which row, from which column, how long.
struct RowPart {
  std::uint32_t row;
  std::uint32_t column;
  std::uint32_t bytes;
};

RowPart row_part(std::uint32_t offset, std::uint32_t bytes) {
  const std::uint32_t column = offset % row_bytes;
  return {offset / row_bytes, column, std::min(bytes, row_bytes - column)};
}

void add_row(FingerprintSums& sums, const FingerprintTables& tables, std::uint32_t row, const std::byte* data) {
  std::uint32_t words[row_bytes / 4];
  std::memcpy(words, data, row_bytes);
  for (int k = 0; k < fingerprint_sums; ++k) {
    std::uint64_t sum = 0;
    for (int i = 0; i < 8; ++i) {
      sum += tables.rows[row][k][0][i] * words[2 * i] + tables.rows[row][k][1][i] * words[2 * i + 1];
    }
    sums.sum[k] += sum;
  }
}

FingerprintSums portable_sums(const FingerprintTables& tables, const FingerprintPiece& piece) {
  FingerprintSums sums;
  const std::byte* data = piece.data;
  std::uint32_t offset = piece.offset;
  for (std::uint32_t left = piece.bytes; left > 0;) {
    const RowPart part = row_part(offset, left);
    if (part.bytes == row_bytes) {
      add_row(sums, tables, part.row, data);
    } else {
      std::byte filled[row_bytes] = {};
      std::memcpy(filled + part.column, data, part.bytes);
      add_row(sums, tables, part.row, filled);
    }
    data += part.bytes;
    offset += part.bytes;
    left -= part.bytes;
  }
  return sums;
}

void portable_add(const FingerprintTables& tables, const FingerprintRuns& runs, FingerprintAccumulator& into) {
  for (FingerprintCursor cursor(runs); cursor.next();) into.add(cursor.block(), portable_sums(tables, cursor.piece()));
}

#if defined(__x86_64__)

/// An address that may lie outside the array it is counted from, as prefetches and masked loads have.
const char* address(const std::byte* data, std::ptrdiff_t distance) {
  return reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(distance));
}

/// Asks for the line that will be read soon, near, and for one that will be read later, less near. A core waits for
/// more lines on their way to its second cache than to its first, so both together keep memory busier than either.
inline void prefetch(const std::byte* data, std::ptrdiff_t distance_bytes) {
  constexpr std::ptrdiff_t later = 4;
  _mm_prefetch(address(data, distance_bytes), _MM_HINT_T0);
  _mm_prefetch(address(data, later * distance_bytes), _MM_HINT_T1);
}

#define RESHARDCHECK_AVX2 __attribute__((target("avx2")))

/// Six accumulators: for each sum the even and the odd words.
struct Sums256 {
  __m256i even[fingerprint_sums];
  __m256i odd[fingerprint_sums];
};

RESHARDCHECK_AVX2 inline void add_half_row(Sums256& sums, const std::uint64_t (*row)[2][8], int half, __m256i words) {
  const __m256i odd_words = _mm256_srli_epi64(words, 32);
  for (int k = 0; k < fingerprint_sums; ++k) {
    const __m256i even = _mm256_load_si256(reinterpret_cast<const __m256i*>(row[k][0] + 4 * half));
    const __m256i odd = _mm256_load_si256(reinterpret_cast<const __m256i*>(row[k][1] + 4 * half));
    sums.even[k] = _mm256_add_epi64(sums.even[k], _mm256_mul_epu32(words, even));
    sums.odd[k] = _mm256_add_epi64(sums.odd[k], _mm256_mul_epu32(odd_words, odd));
  }
}

RESHARDCHECK_AVX2 inline void add_row(Sums256& sums, const FingerprintTables& tables, std::uint32_t row,
                                      const std::byte* data) {
  const auto* halves = reinterpret_cast<const __m256i*>(data);
  add_half_row(sums, tables.rows[row], 0, _mm256_loadu_si256(halves));
  add_half_row(sums, tables.rows[row], 1, _mm256_loadu_si256(halves + 1));
}

RESHARDCHECK_AVX2 inline void add_part(Sums256& sums, const FingerprintTables& tables, const RowPart& part,
                                       const std::byte* data) {
  alignas(32) std::byte filled[row_bytes] = {};
  std::memcpy(filled + part.column, data, part.bytes);
  add_row(sums, tables, part.row, filled);
}

RESHARDCHECK_AVX2 inline std::uint64_t total(__m256i lanes) {
  const __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(pair)) + static_cast<std::uint64_t>(_mm_extract_epi64(pair, 1));
}

RESHARDCHECK_AVX2 FingerprintSums avx2_sums(const FingerprintTables& tables, const FingerprintPiece& piece) {
  Sums256 sums;
  for (int k = 0; k < fingerprint_sums; ++k) sums.even[k] = sums.odd[k] = _mm256_setzero_si256();
  const std::byte* data = piece.data;
  std::uint32_t left = piece.bytes;
  std::uint32_t row = piece.offset / row_bytes;
  if (piece.offset % row_bytes != 0) {
    const RowPart part = row_part(piece.offset, left);
    add_part(sums, tables, part, data);
    data += part.bytes;
    left -= part.bytes;
    ++row;
  }
  const std::uint32_t whole_rows = left / row_bytes;
#pragma GCC unroll 4
  for (std::uint32_t i = 0; i < whole_rows; ++i) {
    prefetch(data + i * row_bytes, piece.prefetch_bytes);
    add_row(sums, tables, row + i, data + i * row_bytes);
  }
  if (left % row_bytes > 0) {
    add_part(sums, tables, {row + whole_rows, 0, left % row_bytes}, data + whole_rows * row_bytes);
  }
  FingerprintSums result;
  for (int k = 0; k < fingerprint_sums; ++k) result.sum[k] = total(_mm256_add_epi64(sums.even[k], sums.odd[k]));
  return result;
}

RESHARDCHECK_AVX2 void avx2_add(const FingerprintTables& tables, const FingerprintRuns& runs,
                                FingerprintAccumulator& into) {
  for (FingerprintCursor cursor(runs); cursor.next();) into.add(cursor.block(), avx2_sums(tables, cursor.piece()));
}

#define RESHARDCHECK_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2")))

struct Sums512 {
  __m512i even[fingerprint_sums];
  __m512i odd[fingerprint_sums];
};

RESHARDCHECK_AVX512 inline void add_row(Sums512& sums, const FingerprintTables& tables, std::uint32_t row,
                                        __m512i words) {
  const __m512i odd_words = _mm512_srli_epi64(words, 32);
  for (int k = 0; k < fingerprint_sums; ++k) {
    sums.even[k] = _mm512_add_epi64(sums.even[k], _mm512_mul_epu32(words, _mm512_load_si512(tables.rows[row][k][0])));
    sums.odd[k] = _mm512_add_epi64(sums.odd[k], _mm512_mul_epu32(odd_words, _mm512_load_si512(tables.rows[row][k][1])));
  }
}

RESHARDCHECK_AVX512 inline std::uint64_t total(__m512i lanes) {
  return total(_mm256_add_epi64(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1)));
}

/// A row of which only bytes [column, column + bytes) are read; the others are zero.
RESHARDCHECK_AVX512 inline __m512i load_part(const std::byte* data, const RowPart& part) {
  const __mmask64 mask = _bzhi_u64(~std::uint64_t{0}, part.bytes) << part.column;
  return _mm512_maskz_loadu_epi8(mask, address(data, -static_cast<std::ptrdiff_t>(part.column)));
}

RESHARDCHECK_AVX512 FingerprintSums avx512_sums(const FingerprintTables& tables, const FingerprintPiece& piece) {
  Sums512 sums;
  for (int k = 0; k < fingerprint_sums; ++k) sums.even[k] = sums.odd[k] = _mm512_setzero_si512();
  const std::byte* data = piece.data;
  std::uint32_t left = piece.bytes;
  std::uint32_t row = piece.offset / row_bytes;
  if (piece.offset % row_bytes != 0) {
    const RowPart part = row_part(piece.offset, left);
    add_row(sums, tables, row, load_part(data, part));
    data += part.bytes;
    left -= part.bytes;
    ++row;
  }
  const std::uint32_t whole_rows = left / row_bytes;
#pragma GCC unroll 4
  for (std::uint32_t i = 0; i < whole_rows; ++i) {
    prefetch(data + i * row_bytes, piece.prefetch_bytes);
    add_row(sums, tables, row + i, _mm512_loadu_si512(data + i * row_bytes));
  }
  if (left % row_bytes > 0) {
    const std::uint32_t last = row + whole_rows;
    add_row(sums, tables, last, load_part(data + whole_rows * row_bytes, {last, 0, left % row_bytes}));
  }
  FingerprintSums result;
  for (int k = 0; k < fingerprint_sums; ++k) result.sum[k] = total(_mm512_add_epi64(sums.even[k], sums.odd[k]));
  return result;
}

RESHARDCHECK_AVX512 void avx512_add(const FingerprintTables& tables, const FingerprintRuns& runs,
                                    FingerprintAccumulator& into) {
  for (FingerprintCursor cursor(runs); cursor.next();) into.add(cursor.block(), avx512_sums(tables, cursor.piece()));
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}

#endif

}  // namespace

std::vector<FingerprintKernel> fingerprint_kernels() {
  std::vector<FingerprintKernel> kernels = {{"portable", portable_sums, portable_add}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) kernels.push_back({"avx2", avx2_sums, avx2_add});
  if (has_avx512()) kernels.push_back({"avx512", avx512_sums, avx512_add});
#endif
  return kernels;
}

}  // namespace reshardcheck
