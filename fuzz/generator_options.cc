// The two ways in which a campaign narrows what is generated: the enumerator's bound, and a swarm's random subset.
#include <algorithm>
#include <array>

#include "fuzz/generator.h"

namespace reshardcheck {
namespace {

/// Every percentage that switches a feature on, in the order of the struct.
constexpr std::array features = {&GeneratorOptions::mirror,     &GeneratorOptions::square,
                                 &GeneratorOptions::rank_order, &GeneratorOptions::rank_gaps,
                                 &GeneratorOptions::overlap,    &GeneratorOptions::target_first,
                                 &GeneratorOptions::idle_ranks, &GeneratorOptions::gather_broadcast,
                                 &GeneratorOptions::mixes,      &GeneratorOptions::models,
                                 &GeneratorOptions::domains,    &GeneratorOptions::refits,
                                 &GeneratorOptions::chunks,     &GeneratorOptions::gaps,
                                 &GeneratorOptions::batches,    &GeneratorOptions::fills,
                                 &GeneratorOptions::seeds};

/// Percentages that shape a case rather than switch something on.
constexpr std::array shapes = {&GeneratorOptions::replicate, &GeneratorOptions::same_dim, &GeneratorOptions::other_rule,
                               &GeneratorOptions::structured_order};

/// A random subset that is not empty.
template <typename T>
std::vector<T> draw_subset(Choices& choices, const std::vector<T>& values) {
  std::vector<T> result;
  for (const T& value : values) {
    if (choices.chance(50)) result.push_back(value);
  }
  if (result.empty()) result.push_back(choices.pick(std::span<const T>(values)));
  return result;
}

}  // namespace

GeneratorOptions GeneratorOptions::small_scope(std::int64_t max_ranks, int max_dims, std::int64_t max_extent) {
  GeneratorOptions bound;
  bound.max_world_ranks = max_ranks;
  bound.max_dims = max_dims;
  bound.min_extent = 1;
  bound.max_extent = max_extent;
  bound.max_axes = 2;
  bound.max_tensors = 1;
  bound.rules = {SplitRule::chunk};
  bound.dtypes = {DType::u8};
  bound.structured_order = 0;
  for (int GeneratorOptions::*const feature : features) bound.*feature = 0;
  return bound;
}

GeneratorOptions draw_swarm(Choices& choices, const GeneratorOptions& options) {
  GeneratorOptions swarm = options;
  enum Level : std::size_t { off, usual, often };
  for (int GeneratorOptions::*const feature : features) {
    constexpr int weights[] = {5, 3, 2};
    const std::size_t level = choices.weighted(weights);
    if (options.*feature == 0 || level == usual) continue;
    swarm.*feature = level == off ? 0 : std::max(options.*feature, 70);
  }
  for (int GeneratorOptions::*const shape : shapes) {
    constexpr int weights[] = {1, 3, 1};
    const std::size_t level = choices.weighted(weights);
    if (level != usual) swarm.*shape = level == off ? options.*shape / 4 : std::max(options.*shape, 70);
  }
  swarm.rules = draw_subset(choices, options.rules);
  if (choices.chance(50)) swarm.dtypes = draw_subset(choices, draw_subset(choices, options.dtypes));
  if (choices.chance(50))
    swarm.max_extent = choices.between(std::max<std::int64_t>(1, options.min_extent), options.max_extent);
  if (choices.chance(50)) {
    const std::int64_t least = std::min(options.max_world_ranks, std::max<std::int64_t>(4, options.min_world_ranks));
    swarm.max_world_ranks = choices.between(least, options.max_world_ranks);
  }
  if (choices.chance(30)) swarm.max_axes = static_cast<int>(choices.between(1, options.max_axes));
  if (choices.chance(30))
    swarm.max_dims = static_cast<int>(choices.between(std::max(1, options.min_dims), options.max_dims));
  swarm.max_extent = std::max(swarm.max_extent, swarm.min_extent);
  swarm.max_dims = std::max(swarm.max_dims, swarm.min_dims);
  return swarm;
}

}  // namespace reshardcheck
