// Special values: bit patterns that survive a move of bytes and do not survive arithmetic.
//
// NaNs with payloads (quiet and signalling), zeros of both signs, denormals, infinities, the largest finite values
// and all-ones, for each floating-point format; the extremes for integers. Which one an element holds is drawn from
// a hash, so neighbours differ.
#pragma once

#include <cstdint>

#include "core/layout/dtype.h"

namespace reshardcheck {

/// The special value of a dtype that a uniformly drawn hash selects, low bits first.
[[nodiscard]] std::uint64_t special_value(DType dtype, std::uint64_t hash);

}  // namespace reshardcheck
