// Draws one side of a tensor: a mesh of a given size, and placements that are valid by construction.
//
// What an axis may do depends on the axes before it: cuts must be alone on their dim, balanced does not mix, even
// must divide what is left. The drawer follows each dim and offers only what fits, so nothing is ever rejected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/choices.h"
#include "fuzz/draft.h"
#include "fuzz/generator.h"

namespace reshardcheck {

/// An ordered factorisation of `size` into 1 to max_axes extents, each of them at least 1.
std::vector<std::int64_t> draw_extents(Choices& choices, std::int64_t size, int max_axes);

/// `parts` sizes, zero allowed, that sum to `total`.
std::vector<std::int64_t> draw_sizes(Choices& choices, std::int64_t total, std::int64_t parts);

/// One placement per mesh extent for a tensor of that shape.
std::vector<Placement> draw_placements(Choices& choices, const GeneratorOptions& options, const Shape& shape,
                                       std::span<const std::int64_t> extents);

/// The order of a side's rank list: row-major `ranks` in, permuted out.
void draw_rank_order(Choices& choices, const GeneratorOptions& options, SideDraft& side);

}  // namespace reshardcheck
