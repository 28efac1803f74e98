// FingerprintStream: adds up the contributions of runs of bytes, in whatever order and cut they come.
//
// Runs that are long enough go straight to the kernel, block by block. Short ones (a column of a narrow shard has
// runs of a few bytes) are first laid out in an image of their block, which is hashed when the next block begins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verifier/fingerprint_key.h"

namespace reshardcheck {

class FingerprintStream {
 public:
  explicit FingerprintStream(const FingerprintKey& key) : key_(key), accumulator_(key.tables()) {}

  /// Runs of bytes of the row-major tensor. Between two calls of finish() no byte of the tensor comes twice.
  void add(const FingerprintRuns& runs);
  void add(std::uint64_t offset_bytes, const std::byte* data, std::size_t bytes);

  /// The sum of everything added since the last finish().
  FingerprintState finish();

 private:
  void add_small(std::uint64_t offset_bytes, const std::byte* data, std::size_t bytes);
  void flush_image();

  const FingerprintKey& key_;
  FingerprintAccumulator accumulator_;
  std::uint64_t image_block_ = 0;
  std::uint32_t image_begin_ = 0;  // the part of the image that is in use; the rest is zero
  std::uint32_t image_end_ = 0;
  alignas(64) std::array<std::byte, fingerprint_block_bytes> image_ = {};
};

}  // namespace reshardcheck
