#include "fuzz/side_drawer.h"

#include <algorithm>
#include <array>

namespace reshardcheck {
namespace {

bool contains(std::span<const SplitRule> rules, SplitRule rule) {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

/// What the axes so far have done to one dim.
struct DimState {
  int axes = 0;
  SplitRule first = SplitRule::chunk;
  std::vector<DimPiece> pieces;  // what the next axis would split; kept only while rule `even` may be asked for
};

class PlacementDrawer {
 public:
  PlacementDrawer(Choices& choices, const GeneratorOptions& options, const Shape& shape)
      : choices_(choices),
        options_(options),
        shape_(shape),
        dims_(shape.size()),
        follow_pieces_(contains(options.rules, SplitRule::even)) {
    for (std::size_t dim = 0; follow_pieces_ && dim < dims_.size(); ++dim) {
      dims_[dim].pieces = {{IntervalList({0, shape[dim]}), shape[dim]}};
    }
  }

  Placement draw(std::int64_t parts) {
    const int dim = draw_dim(parts);
    previous_dim_ = dim;
    if (dim == Placement::replicate_dim) return Placement::replicate();
    const Placement placement = draw_rule(dim, parts);
    note(placement, parts);
    return placement;
  }

 private:
  /// R has weight `replicate`, the dims share the rest; the dim of the axis before gets `same_dim` of it.
  int draw_dim(std::int64_t parts) {
    std::vector<int> weights(dims_.size() + 1, 0);
    int open = 0;
    for (std::size_t dim = 0; dim < dims_.size(); ++dim) open += weights[dim + 1] = allowed(dim, parts).empty() ? 0 : 1;
    if (open == 0) return Placement::replicate_dim;
    constexpr int scale = 100;
    const int sharding = (scale - std::clamp(options_.replicate, 0, scale)) * scale;
    for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
      const bool repeats = static_cast<int>(dim) == previous_dim_;
      weights[dim + 1] *= 1 + sharding / open + (repeats ? sharding * options_.same_dim / scale : 0);
    }
    weights[0] = options_.replicate * scale;
    return static_cast<int>(choices_.weighted(weights)) - 1;
  }

  Placement draw_rule(int dim, std::int64_t parts) {
    const std::vector<SplitRule> rules = allowed(static_cast<std::size_t>(dim), parts);
    std::vector<int> weights;
    const int others = static_cast<int>(std::max<std::ptrdiff_t>(1, std::ssize(rules) - 1));
    for (const SplitRule rule : rules) {
      weights.push_back(rule == SplitRule::chunk ? 1 + (100 - options_.other_rule) * others : 1 + options_.other_rule);
    }
    const std::int64_t extent = shape_[static_cast<std::size_t>(dim)];
    switch (const SplitRule rule = rules[choices_.weighted(weights)]) {
      case SplitRule::padded: {
        constexpr std::array multiples = {2, 1, 1, 1};  // weights of multiples 1 to 4
        return Placement::padded(dim, 1 + static_cast<std::int64_t>(choices_.weighted(multiples)));
      }
      case SplitRule::cuts:
        return Placement::cuts(dim, draw_sizes(choices_, extent, parts));
      case SplitRule::segments:
        return Placement::segments(dim, draw_sizes(choices_, extent, choices_.between(2, 3)));
      case SplitRule::strided:
        return Placement::strided(dim, choices_.between(2, 4));
      case SplitRule::chunk:
      case SplitRule::balanced:
      case SplitRule::even:
        return Placement::shard(dim, rule);
    }
    RESHARDCHECK_CHECK(false && "unknown split rule");
  }

  /// The rules that one more axis on the dim may use.
  std::vector<SplitRule> allowed(std::size_t dim, std::int64_t parts) const {
    const DimState& state = dims_[dim];
    std::vector<SplitRule> result;
    for (const SplitRule rule : options_.rules) {
      const bool mixes = rule == SplitRule::balanced ? state.first == SplitRule::balanced
                                                     : rule != SplitRule::cuts && state.first != SplitRule::balanced;
      const bool fits = state.axes == 0 || (state.first != SplitRule::cuts && mixes);
      if (fits && (rule != SplitRule::even || divides(state, parts))) result.push_back(rule);
    }
    return result;
  }

  static bool divides(const DimState& state, std::int64_t parts) {
    return std::all_of(state.pieces.begin(), state.pieces.end(),
                       [parts](const DimPiece& piece) { return piece.local_extent % parts == 0; });
  }

  void note(const Placement& placement, std::int64_t parts) {
    DimState& state = dims_[static_cast<std::size_t>(placement.dim)];
    if (state.axes++ == 0) state.first = placement.rule;
    if (!follow_pieces_ || placement.rule == SplitRule::balanced || placement.rule == SplitRule::cuts) return;
    std::vector<DimPiece> finer;
    for (const DimPiece& piece : state.pieces) {
      Result<std::vector<DimPiece>> parted = split(piece, placement, parts);
      RESHARDCHECK_CHECK(parted.ok());
      std::move(parted->begin(), parted->end(), std::back_inserter(finer));
    }
    state.pieces = std::move(finer);
  }

  Choices& choices_;
  const GeneratorOptions& options_;
  const Shape& shape_;
  std::vector<DimState> dims_;
  int previous_dim_ = Placement::replicate_dim;
  bool follow_pieces_;
};

/// The rank list of a mesh whose axes are numbered the other way round: column-major.
std::vector<Rank> column_major(const SideDraft& side) {
  std::vector<Rank> result(side.ranks.size());
  for (std::size_t index = 0; index < result.size(); ++index) {
    std::int64_t rest = static_cast<std::int64_t>(index);
    std::int64_t stride = side.size();
    std::int64_t number = 0;
    for (std::size_t axis = side.extents.size(); axis-- > 0;) {
      stride /= side.extents[axis];  // the product of the extents before this axis
      number += rest % side.extents[axis] * stride;
      rest /= side.extents[axis];
    }
    result[index] = side.ranks[static_cast<std::size_t>(number)];
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> draw_extents(Choices& choices, std::int64_t size, int max_axes) {
  int divisors = 0;
  for (std::int64_t d = 1; d <= size; ++d) divisors += size % d == 0 ? 1 : 0;
  // Several axes are worth most where the size really factors; an axis of extent 1 is a feature, not the rule.
  std::vector<int> axis_weights(static_cast<std::size_t>(max_axes), divisors > 2 ? 4 : 1);
  axis_weights[0] = divisors > 2 ? 5 : 6;
  const std::size_t axes = choices.weighted(axis_weights) + 1;
  std::vector<std::int64_t> extents;
  for (std::size_t axis = 0; axis + 1 < axes; ++axis) {
    std::vector<int> weights(static_cast<std::size_t>(size), 0);
    for (std::int64_t d = 1; d <= size; ++d) {
      if (size % d == 0) weights[static_cast<std::size_t>(d - 1)] = d == 1 || d == size ? 1 : 4;
    }
    extents.push_back(static_cast<std::int64_t>(choices.weighted(weights)) + 1);
    size /= extents.back();
  }
  extents.push_back(size);
  return extents;
}

std::vector<std::int64_t> draw_sizes(Choices& choices, std::int64_t total, std::int64_t parts) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = parts; left > 1; --left) {
    // Around an even share of what is left, so that the last part is neither always large nor always empty.
    std::vector<int> weights(static_cast<std::size_t>(total) + 1, 1);
    const std::int64_t share = total / left;
    for (std::int64_t size = std::max<std::int64_t>(1, share - 1); size <= std::min(total, share + 2); ++size) {
      weights[static_cast<std::size_t>(size)] = 6;
    }
    sizes.push_back(static_cast<std::int64_t>(choices.weighted(weights)));
    total -= sizes.back();
  }
  sizes.push_back(total);
  return sizes;
}

std::vector<Placement> draw_placements(Choices& choices, const GeneratorOptions& options, const Shape& shape,
                                       std::span<const std::int64_t> extents) {
  PlacementDrawer drawer(choices, options, shape);
  std::vector<Placement> placements;
  placements.reserve(extents.size());
  for (const std::int64_t parts : extents) placements.push_back(drawer.draw(parts));
  return placements;
}

void draw_rank_order(Choices& choices, const GeneratorOptions& options, SideDraft& side) {
  if (!choices.chance(options.rank_order)) return;
  if (choices.chance(options.structured_order)) {
    if (side.extents.size() > 1) {
      side.ranks = column_major(side);
    } else {
      std::reverse(side.ranks.begin(), side.ranks.end());
    }
    return;
  }
  for (std::size_t left = side.ranks.size(); left > 1; --left) {
    std::swap(side.ranks[left - 1],
              side.ranks[static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(left)))]);
  }
}

}  // namespace reshardcheck
