// Sums of elements that stop at the largest number instead of overflowing: a plan may move more than 2^63 elements
// in total even where every tensor and every box has fewer.
#pragma once

#include <cstdint>
#include <limits>

namespace reshardcheck {

/// a + b and a * b for counts (never negative).
[[nodiscard]] inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}
[[nodiscard]] inline std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace reshardcheck
