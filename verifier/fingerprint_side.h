// One side of a tensor as text: "2x2@0 S(0),R", the notation's mesh and placements, for a shape that is known.
#pragma once

#include <string_view>

#include "core/layout/layout.h"

namespace reshardcheck {

/// The layout of `shape` that the text says. Errors have their position in `text`.
Result<Layout> parse_side(const Shape& shape, std::string_view text);

}  // namespace reshardcheck
