// The weight of a neighbourhood (256 blocks, 512 KiB) costs a few multiplications, so sums of blocks are kept unweighted
// until a run leaves the neighbourhood: both rows of a tensor and whole runs stay in one for a while.
#include "verifier/fingerprint_stream.h"

#include <algorithm>
#include <cstring>

namespace reshardcheck {
namespace {

constexpr std::uint64_t block_bytes = fingerprint_block_bytes;
constexpr std::size_t small_bytes = 128;  // a kernel call and the end of a block cost about as much as this

/// memcpy that does not call for the widths of elements.
void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 1: *to = *from; break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, bytes);
  }
}

}  // namespace

void FingerprintStream::add(std::uint64_t offset_bytes, const std::byte* data, std::size_t bytes,
                            std::ptrdiff_t prefetch_bytes) {
  if (bytes < small_bytes) return add_small(offset_bytes, data, bytes);
  while (bytes > 0) {
    const std::uint64_t offset = offset_bytes % block_bytes;
    const std::size_t taken = std::min<std::uint64_t>(bytes, block_bytes - offset);
    add_piece(offset_bytes / block_bytes,
              {data, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(taken), prefetch_bytes});
    offset_bytes += taken;
    data += taken;
    bytes -= taken;
  }
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

void FingerprintStream::add_piece(std::uint64_t block, const FingerprintPiece& piece) {
  if (block >> 8 != neighbourhood_) {
    flush_neighbourhood();
    neighbourhood_ = block >> 8;
  }
  const FingerprintSums sums = key_.sums(piece);
  for (int lane = 0; lane < 2; ++lane) {
    partial_.lane[lane] = add_residues(partial_.lane[lane], mix_sums(key_.tables(), block, lane, sums));
  }
}

void FingerprintStream::flush_image() {
  if (image_end_ == 0) return;
  const std::uint32_t bytes = image_end_ - image_begin_;
  add_piece(image_block_, {image_.data() + image_begin_, image_begin_, bytes, 0});
  std::memset(image_.data() + image_begin_, 0, bytes);
  image_end_ = 0;
}

void FingerprintStream::flush_neighbourhood() {
  for (int lane = 0; lane < 2; ++lane) {
    const std::uint64_t weight = neighbourhood_weight(key_.tables(), neighbourhood_ << 8, lane);
    total_.lane[lane] = add_residues(total_.lane[lane], multiply_residues(weight, partial_.lane[lane]));
  }
  partial_ = {};
}

FingerprintState FingerprintStream::finish() {
  flush_image();
  flush_neighbourhood();
  const FingerprintState result = total_;
  total_ = {};
  return result;
}

}  // namespace reshardcheck
