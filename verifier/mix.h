// Mixing functions shared by the fills and the guard patterns: cheap, stateless, the same on every machine.
#pragma once

#include <cstdint>

namespace reshardcheck {

/// 2^64 divided by the golden ratio, odd: multiples of it are spread evenly (Knuth 6.4).
inline constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15u;

/// A bijection in which every input bit changes every output bit half of the time (splitmix64's finalizer).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A byte in all eight places of a word.
[[nodiscard]] constexpr std::uint64_t spread(std::uint64_t byte) { return (byte & 0xFFu) * 0x0101010101010101u; }

}  // namespace reshardcheck
