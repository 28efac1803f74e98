// What a kernel writes into and reads from: runs of bytes, cut into pieces of blocks, and the sum of their
// contributions.
//
// A reduction modulo the prime costs more than a row of 64 bytes, and the weight of a neighbourhood (256 blocks, 512
// KiB) a few of them, so products are kept whole in 192 bits until a piece of another neighbourhood comes. Everything
// is inline: each kernel compiles it into its own loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "verifier/fingerprint_function.h"

namespace reshardcheck {

/// How far ahead memory is best asked for where it is read in order: about as many lines as a core waits for at once.
inline constexpr std::ptrdiff_t fingerprint_prefetch_bytes = 768;

/// `count` runs of `bytes` bytes, a constant step apart both in the tensor and in memory.
struct FingerprintRuns {
  std::uint64_t offset_bytes = 0;  // of the first run, in the row-major tensor
  std::uint64_t offset_step_bytes = 0;
  const std::byte* data = nullptr;  // the first run
  std::ptrdiff_t data_step_bytes = 0;
  std::size_t bytes = 0;
  std::int64_t count = 1;
  std::ptrdiff_t prefetch_bytes = 0;  // how far ahead of the byte being read memory will be wanted
};

/// A piece of one block: `bytes` bytes that stand at `offset` of it.
struct FingerprintPiece {
  const std::byte* data = nullptr;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::ptrdiff_t prefetch_bytes = 0;
};

/// Steps through the pieces of runs: while (cursor.next()) use(cursor.block(), cursor.piece()).
class FingerprintCursor {
 public:
  explicit FingerprintCursor(const FingerprintRuns& runs) : runs_(runs), runs_left_(runs.bytes > 0 ? runs.count : 0) {
    piece_.prefetch_bytes = runs.prefetch_bytes;
  }

  bool next() {
    if (left_ == 0) {
      if (runs_left_ == 0) return false;
      begin_run();
    }
    piece_.data = data_;
    piece_.offset = static_cast<std::uint32_t>(offset_ % fingerprint_block_bytes);
    piece_.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(left_, fingerprint_block_bytes - piece_.offset));
    block_ = offset_ / fingerprint_block_bytes;
    offset_ += piece_.bytes;
    data_ += piece_.bytes;
    left_ -= piece_.bytes;
    return true;
  }

  [[nodiscard]] std::uint64_t block() const { return block_; }
  [[nodiscard]] const FingerprintPiece& piece() const { return piece_; }

 private:
  void begin_run() {
    left_ = runs_.bytes;
    offset_ = runs_.offset_bytes;
    data_ = runs_.data;
    if (--runs_left_ == 0) return;
    runs_.offset_bytes += runs_.offset_step_bytes;
    runs_.data += runs_.data_step_bytes;
  }

  FingerprintRuns runs_;
  std::int64_t runs_left_;
  std::uint64_t offset_ = 0;
  const std::byte* data_ = nullptr;
  std::size_t left_ = 0;
  std::uint64_t block_ = 0;
  FingerprintPiece piece_;
};

/// The sum of contributions, in a form that is cheap to add to.
class FingerprintAccumulator {
 public:
  explicit FingerprintAccumulator(const FingerprintTables& tables) : tables_(tables) {}

  void add(std::uint64_t block, const FingerprintSums& sums) {
    if (block >> 8 != neighbourhood_) enter(block >> 8);
    for (int lane = 0; lane < 2; ++lane) {
      const std::uint64_t* factor = tables_.blocks[block & 255][lane];
      const Wide total = static_cast<Wide>(sums.sum[0]) * factor[0] + static_cast<Wide>(sums.sum[1]) * factor[1] +
                         static_cast<Wide>(sums.sum[2]) * factor[2];  // three products below 2^125
      partial_[lane].low += total;
      partial_[lane].high += partial_[lane].low < total ? 1 : 0;
    }
  }

  /// The sum of what was added since the last call.
  FingerprintState finish() {
    enter(neighbourhood_);
    const FingerprintState result = total_;
    total_ = {};
    return result;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  struct Partial {
    Wide low = 0;
    std::uint64_t high = 0;  // carries out of `low`
  };

  /// Weighs what was added to the last neighbourhood and starts another one.
  void enter(std::uint64_t neighbourhood) {
    for (int lane = 0; lane < 2; ++lane) {
      const Partial& partial = partial_[lane];
      const std::uint64_t low =
          reduce(static_cast<std::uint64_t>(partial.low >> 64), static_cast<std::uint64_t>(partial.low));
      const std::uint64_t high = reduce(partial.high >> 58, partial.high << 6);  // 2^128 is 2^6
      const std::uint64_t weight = neighbourhood_weight(tables_, neighbourhood_ << 8, lane);
      total_.lane[lane] = add_residues(total_.lane[lane], multiply_residues(weight, add_residues(low, high)));
      partial_[lane] = {};
    }
    neighbourhood_ = neighbourhood;
  }

  const FingerprintTables& tables_;
  FingerprintState total_;
  Partial partial_[2];               // of the blocks that share neighbourhood_, not weighted yet
  std::uint64_t neighbourhood_ = 0;  // block >> 8
};

}  // namespace reshardcheck
