// Background: the pattern around and between the elements of a local tensor, where nothing may be written.
//
// Guard bands and, on the target side, padding and the gaps between rows hold it. Word i of a block holds
// key + i * golden ratio, so the pattern depends on position and never repeats; another key per pass and buffer
// keeps one buffer's bytes from passing as another's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reshardcheck {

/// Bytes begin..end-1 of a block of memory that starts at `block`.
struct BackgroundRange {
  std::byte* block = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

void write_background(const BackgroundRange& range, std::uint64_t key);

/// The offset in the block of the first byte that is not as written, or `range.end` when all are.
[[nodiscard]] std::int64_t first_changed(const BackgroundRange& range, std::uint64_t key);

/// The byte that belongs at an offset.
[[nodiscard]] std::byte background_byte(std::int64_t offset, std::uint64_t key);

}  // namespace reshardcheck
