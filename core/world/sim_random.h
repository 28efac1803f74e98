// SimRandom: the simulated network's own source of chance (splitmix64).
//
// A run's events must be the same from the same seed on every machine and with every standard library, which the
// distributions of <random> do not promise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reshardcheck {

class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }

  /// A number in [0, bound); bound is at least 1 and below 2^32.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(((next() >> 32U) * bound) >> 32U); }

 private:
  std::uint64_t state_;
};

}  // namespace reshardcheck
