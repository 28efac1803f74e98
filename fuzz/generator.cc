#include "fuzz/generator.h"

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <ostream>

#include "core/layout/notation.h"
#include "fuzz/model_drawer.h"
#include "fuzz/side_drawer.h"

namespace reshardcheck {
namespace {

/// Where the ranks of the two sides lie: s and t ranks, and the first rank of each.
struct WorldDraft {
  std::vector<Rank> source;
  std::vector<Rank> target;
  bool mirrored = false;  // tensors have the same layout on both sides
};

std::vector<Rank> consecutive(std::int64_t first, std::int64_t count) {
  std::vector<Rank> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), static_cast<Rank>(first));
  return ranks;
}

/// Leaves ranks out: every rank from a drawn place on moves up by one, as often as there is room.
void draw_rank_gaps(Choices& choices, std::int64_t room, WorldDraft& world) {
  const std::int64_t used = std::max(world.source.back(), world.target.back()) + 1;
  for (std::int64_t gaps = choices.between(1, std::min<std::int64_t>(room, 3)); gaps > 0; --gaps) {
    const auto from = static_cast<Rank>(choices.below(used));
    for (std::vector<Rank>* side : {&world.source, &world.target}) {
      for (Rank& rank : *side) rank += rank >= from ? 1 : 0;
    }
  }
}

WorldDraft draw_world(Choices& choices, const GeneratorOptions& options) {
  const bool mirrored = choices.chance(options.mirror);
  const std::int64_t highest = options.max_world_ranks;
  WorldDraft world;
  if (choices.chance(options.overlap)) {
    const std::int64_t lower = choices.between(1, highest);
    const std::int64_t offset = choices.below(lower);
    const std::int64_t least =
        lower >= options.min_world_ranks ? 1 : std::max<std::int64_t>(1, options.min_world_ranks - offset);
    const std::int64_t upper = mirrored ? std::min(lower, highest - offset) : choices.between(least, highest - offset);
    world = {consecutive(0, lower), consecutive(offset, upper), mirrored};
  } else {
    const std::int64_t total = choices.between(std::max<std::int64_t>(2, options.min_world_ranks), highest);
    const std::int64_t lower = mirrored ? total / 2 : choices.between(1, total - 1);
    world = {consecutive(0, lower), consecutive(lower, mirrored ? lower : total - lower), mirrored};
  }
  if (choices.chance(options.target_first)) std::swap(world.source, world.target);
  const std::int64_t room = highest - 1 - std::max(world.source.back(), world.target.back());
  if (room > 0 && choices.chance(options.rank_gaps)) draw_rank_gaps(choices, room, world);
  return world;
}

/// Extents near multiples of the axes that will cut them: that is where remainders and empty shards are.
Shape draw_shape(Choices& choices, const GeneratorOptions& options, const TensorDraft& tensor) {
  std::vector<int> weights(static_cast<std::size_t>(options.max_extent) + 1, 0);
  for (std::int64_t extent = options.min_extent; extent <= options.max_extent; ++extent) {
    int weight = extent == 0 ? 1 : 4;
    for (const SideDraft* side : {&tensor.source, &tensor.target}) {
      for (const std::int64_t parts : side->extents) {
        const std::int64_t remainder = extent % parts;
        if (extent > 0 && parts > 1 && (remainder <= 1 || remainder == parts - 1)) weight += 4;
      }
    }
    weights[static_cast<std::size_t>(extent)] = weight;
  }
  std::vector<int> dim_weights(static_cast<std::size_t>(options.max_dims) + 1, 0);
  constexpr int by_dims[] = {1, 4, 6, 5};
  for (int dims = options.min_dims; dims <= options.max_dims; ++dims) {
    dim_weights[static_cast<std::size_t>(dims)] = by_dims[std::min(dims, 3)];
  }
  Shape shape(choices.weighted(dim_weights));
  const bool square = shape.size() > 1 && choices.chance(options.square);
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    shape[dim] = square && dim > 0 ? shape[0] : static_cast<std::int64_t>(choices.weighted(weights));
  }
  std::int64_t elements = 1;
  for (std::int64_t& extent : shape) {
    if (extent > 1 && elements > options.max_elements / extent) extent = 1;
    elements *= std::max<std::int64_t>(extent, 1);
  }
  return shape;
}

SideDraft draw_mesh(Choices& choices, const GeneratorOptions& options, const std::vector<Rank>& ranks) {
  SideDraft side{draw_extents(choices, std::ssize(ranks), options.max_axes), ranks, {}};
  draw_rank_order(choices, options, side);
  return side;
}

void draw_sides(Choices& choices, const GeneratorOptions& options, bool mirrored, TensorDraft& tensor) {
  tensor.source.placements = draw_placements(choices, options, tensor.shape, tensor.source.extents);
  if (mirrored && tensor.source.ranks.size() == tensor.target.ranks.size()) {
    tensor.target.extents = tensor.source.extents;
    tensor.target.placements = tensor.source.placements;
    if (options.overlap > 0 && choices.chance(50)) tensor.target.ranks = tensor.source.ranks;
    return;
  }
  tensor.target.placements = draw_placements(choices, options, tensor.shape, tensor.target.extents);
}

TensorDraft draw_tensor(Choices& choices, const GeneratorOptions& options, const WorldDraft& world) {
  TensorDraft tensor;
  tensor.dtype = choices.pick(std::span<const DType>(options.dtypes));
  tensor.source = draw_mesh(choices, options, world.source);
  tensor.target = draw_mesh(choices, options, world.target);
  tensor.shape = draw_shape(choices, options, tensor);
  draw_sides(choices, options, world.mirrored, tensor);
  if (choices.chance(options.gather_broadcast)) tensor.path = Path::gather_broadcast;
  return tensor;
}

/// A further tensor of a mix. Caches and batches go wrong between tensors that share something, so most of them
/// share a geometry, a shape or meshes with an earlier one.
TensorDraft draw_relative(Choices& choices, const GeneratorOptions& options, const WorldDraft& world,
                          std::span<const TensorDraft> earlier) {
  enum Kind : std::size_t { unrelated, same_geometry, same_shape, same_meshes };
  constexpr int weights[] = {3, 2, 2, 2};
  const std::size_t kind = choices.weighted(weights);
  if (kind == unrelated) return draw_tensor(choices, options, world);
  TensorDraft tensor = choices.pick(earlier);
  if (kind == same_geometry) return tensor;
  if (kind == same_meshes) tensor.shape = draw_shape(choices, options, tensor);
  draw_sides(choices, options, world.mirrored, tensor);
  return tensor;
}

void draw_mix(Choices& choices, const GeneratorOptions& options, const WorldDraft& world, CaseDraft& draft) {
  const std::int64_t count = choices.between(2, options.max_tensors);
  if (choices.chance(options.models)) {
    draft.tensors = draw_model(choices, options, {world.source, world.target}, count);
    return;
  }
  draft.tensors.push_back(draw_tensor(choices, options, world));
  for (std::int64_t i = 1; i < count; ++i) {
    draft.tensors.push_back(draw_relative(choices, options, world, draft.tensors));
  }
}

/// Sizes at which staging goes wrong: one element, powers of two, and odd sizes that cut elements apart.
std::int64_t draw_chunk_bytes(Choices& choices) {
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64};
  return choices.pick(std::span<const std::int64_t>(sizes));
}

void draw_domain(Choices& choices, std::int64_t world_ranks, Options& drawn) {
  drawn.domain_ranks = choices.between(1, std::min<std::int64_t>(8, world_ranks));
  if (choices.chance(30)) drawn.domain_anchor = choices.below(world_ranks);
}

Options draw_options(Choices& choices, const GeneratorOptions& options, const CaseDraft& draft) {
  Options drawn;
  std::int64_t ranks = 0;
  for (const TensorDraft& tensor : draft.tensors) {
    for (const SideDraft* side : {&tensor.source, &tensor.target}) {
      ranks = std::max<std::int64_t>(ranks, *std::max_element(side->ranks.begin(), side->ranks.end()) + 1);
    }
  }
  const std::int64_t room = options.max_world_ranks - ranks;
  if (ranks < options.min_world_ranks) drawn.world_ranks = options.min_world_ranks;  // sizes made equal left one out
  if (room > 0 && choices.chance(options.idle_ranks)) {
    drawn.world_ranks = std::max(drawn.world_ranks, ranks + choices.between(1, std::min<std::int64_t>(2, room)));
  }
  if (choices.chance(options.domains)) draw_domain(choices, ranks, drawn);
  if (choices.chance(options.refits)) {
    constexpr int weights[] = {4, 2, 1, 3, 1};  // of 2 to 6 refits; some histories matter from the fifth call on
    drawn.refits = 2 + static_cast<std::int64_t>(choices.weighted(weights));
  }
  if (choices.chance(options.chunks)) drawn.chunk_bytes = draw_chunk_bytes(choices);
  if (choices.chance(options.gaps)) drawn.gap_elements = choices.between(1, 3);
  if (draft.tensors.size() > 1 && choices.chance(options.batches)) {
    drawn.batch_tensors = choices.between(1, std::ssize(draft.tensors));
  }
  if (choices.chance(options.fills)) {
    constexpr FillKind kinds[] = {FillKind::hash, FillKind::special, FillKind::provenance};
    drawn.fill = choices.pick(std::span<const FillKind>(kinds));
  }
  if (choices.chance(options.seeds)) drawn.seed = static_cast<std::uint64_t>(choices.below(std::int64_t{1} << 16));
  return drawn;
}

}  // namespace

CaseDraft draw_case(Choices& choices, const GeneratorOptions& options) {
  const WorldDraft world = draw_world(choices, options);
  CaseDraft draft;
  if (options.max_tensors > 1 && choices.chance(options.mixes)) {
    draw_mix(choices, options, world, draft);
  } else {
    draft.tensors.push_back(draw_tensor(choices, options, world));
  }
  draft.options = draw_options(choices, options, draft);
  return draft;
}

Case generate_case(Choices& choices, const GeneratorOptions& options) {
  Result<Case> value = build(draw_case(choices, options));
  RESHARDCHECK_CHECK(value.ok());  // drafts are valid by construction
  return *std::move(value);
}

rc::Gen<Case> case_generator(const GeneratorOptions& options) {
  return rc::Gen<Case>([options](const rc::Random& random, int size) {
    GeneratorOptions scaled = options;
    const std::int64_t percent = std::clamp(size, 0, 100);
    const auto scale = [percent](std::int64_t lowest, std::int64_t highest) {
      return lowest + std::max<std::int64_t>(0, highest - lowest) * percent / 100;
    };
    scaled.max_world_ranks = scale(std::max<std::int64_t>(2, options.min_world_ranks), options.max_world_ranks);
    scaled.max_extent = scale(std::max<std::int64_t>(1, options.min_extent), options.max_extent);
    RandomChoices choices(random);
    return rc::shrinkable::just(generate_case(choices, scaled));
  });
}

void showValue(const Case& value, std::ostream& out) { out << to_text(value); }

}  // namespace reshardcheck
