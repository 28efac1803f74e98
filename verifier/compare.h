// compare_elements: holds memory against values that are written block by block into a small scratch.
//
// The one loop behind every check: equal blocks cost a write of the expected values and a memcmp, and only a block
// that differs is looked at element by element.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "verifier/element_bits.h"

namespace reshardcheck {

/// Calls write(first, count, out) for blocks of elements [first, first + count) and compares them with `memory`;
/// calls wrong(element, expected, got) for every element that differs, in order.
template <typename Write, typename Wrong>
void compare_elements(const std::byte* memory, int width_bytes, std::int64_t count, Write&& write, Wrong&& wrong) {
  alignas(64) std::array<std::byte, 4096> expected;
  const std::int64_t block = static_cast<std::int64_t>(expected.size()) / width_bytes;
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t here = std::min(block, count - first);
    write(first, here, expected.data());
    const std::byte* got = memory + first * width_bytes;
    if (std::memcmp(got, expected.data(), static_cast<std::size_t>(here * width_bytes)) == 0) continue;
    for (std::int64_t i = 0; i < here; ++i) {
      const std::uint64_t want = load_element(expected.data() + i * width_bytes, width_bytes);
      const std::uint64_t have = load_element(got + i * width_bytes, width_bytes);
      if (want != have) wrong(first + i, want, have);
    }
  }
}

}  // namespace reshardcheck
