#include "verifier/fingerprint_stream.h"

#include <algorithm>
#include <cstring>

namespace reshardcheck {
namespace {

constexpr std::uint64_t block_bytes = fingerprint_block_bytes;
constexpr std::size_t small_bytes = 128;  // the end of a piece costs about as much as this many bytes

/// memcpy that does not call for the widths of elements.
void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 1:
      *to = *from;
      break;
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    default:
      std::memcpy(to, from, bytes);
  }
}

}  // namespace

void FingerprintStream::add(const FingerprintRuns& runs) {
  if (runs.bytes >= small_bytes) return key_.add(runs, accumulator_);
  std::uint64_t offset = runs.offset_bytes;
  const std::byte* data = runs.data;
  for (std::int64_t i = 0; i < runs.count; ++i) {
    if (i > 0) {
      offset += runs.offset_step_bytes;
      data += runs.data_step_bytes;
    }
    add_small(offset, data, runs.bytes);
  }
}

void FingerprintStream::add(std::uint64_t offset_bytes, const std::byte* data, std::size_t bytes) {
  add({offset_bytes, 0, data, 0, bytes, 1, fingerprint_prefetch_bytes});
}

void FingerprintStream::add_small(std::uint64_t offset_bytes, const std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const std::uint64_t block = offset_bytes / block_bytes;
    const auto begin = static_cast<std::uint32_t>(offset_bytes % block_bytes);
    const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, block_bytes - begin));
    if (block != image_block_ || image_end_ == 0) {
      flush_image();
      image_block_ = block;
      image_begin_ = begin;
    }
    copy_run(image_.data() + begin, data, taken);
    image_begin_ = std::min(image_begin_, begin);
    image_end_ = std::max(image_end_, begin + taken);
    offset_bytes += taken;
    data += taken;
    bytes -= taken;
  }
}

void FingerprintStream::flush_image() {
  if (image_end_ == 0) return;
  std::byte* used = image_.data() + image_begin_;
  const std::size_t bytes = image_end_ - image_begin_;
  key_.add({image_block_ * block_bytes + image_begin_, 0, used, 0, bytes, 1, 0}, accumulator_);
  std::memset(used, 0, bytes);
  image_end_ = 0;
}

FingerprintState FingerprintStream::finish() {
  flush_image();
  return accumulator_.finish();
}

}  // namespace reshardcheck
