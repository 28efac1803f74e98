// Elements as bits: loading, storing, and running typed loops over memory whose width is known at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace reshardcheck {

/// The bits of one element in memory, low bytes first.
[[nodiscard]] inline std::uint64_t load_element(const std::byte* from, int width_bytes) {
  std::uint64_t bits = 0;
  switch (width_bytes) {  // constant sizes compile to single loads
    case 1:
      std::memcpy(&bits, from, 1);
      break;
    case 2:
      std::memcpy(&bits, from, 2);
      break;
    case 4:
      std::memcpy(&bits, from, 4);
      break;
    default:
      std::memcpy(&bits, from, 8);
  }
  return bits;
}

inline void store_element(std::byte* to, int width_bytes, std::uint64_t bits) {
  std::memcpy(to, &bits, static_cast<std::size_t>(width_bytes));
}

/// Calls `body` with a zero of the unsigned type of that width.
template <typename Body>
void with_width(int width_bytes, Body&& body) {
  switch (width_bytes) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

}  // namespace reshardcheck
