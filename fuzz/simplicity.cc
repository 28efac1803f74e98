#include "fuzz/simplicity.h"

#include <algorithm>

#include "core/layout/notation.h"
#include "core/layout/option_table.h"

namespace reshardcheck {
namespace {

std::int64_t point(bool holds) { return holds ? 1 : 0; }

/// At home: the source holds the ranks from 0, the target the ranks right after, each in any order.
bool at_home(const Mesh& source, const Mesh& target) {
  const auto dense = [](const Mesh& mesh) {
    return mesh.highest_rank() - mesh.lowest_rank() + 1 == std::ssize(mesh.ranks());
  };
  return dense(source) && dense(target) && source.lowest_rank() == 0 &&
         target.lowest_rank() == source.highest_rank() + 1;
}

std::int64_t points_of(const Layout& layout) {
  std::int64_t points = point(!layout.mesh().is_consecutive());
  for (const Placement& placement : layout.placements()) {
    points += point(placement.is_shard() && placement.rule != SplitRule::chunk);
  }
  return points;
}

std::int64_t sharding_axes(const Layout& layout) {
  return std::count_if(layout.placements().begin(), layout.placements().end(),
                       [](const Placement& placement) { return placement.is_shard(); });
}

/// What a rule weighs: later rules and larger parameters more, and more sizes more.
std::int64_t rule_weight(const Layout& layout) {
  std::int64_t weight = 0;
  for (const Placement& placement : layout.placements()) {
    if (placement.is_shard()) {
      weight += static_cast<std::int64_t>(placement.rule) * 1'000 + std::min<std::int64_t>(placement.parameter, 100) +
                std::ssize(placement.sizes) * 10;
    }
  }
  return weight;
}

}  // namespace

std::int64_t feature_points(const Case& value) {
  const Options& options = value.options;
  std::int64_t points =
      std::ssize(non_default_options(options)) - point(options.fill != FillKind::digits) + std::ssize(options.faults);
  for (const TensorCase& tensor : value.tensors) {
    points += point(!tensor.name.empty()) + point(tensor.dtype != DType::u8) + point(tensor.path != Path::reshard) +
              points_of(tensor.source) + points_of(tensor.target) +
              point(!at_home(tensor.source.mesh(), tensor.target.mesh())) +
              std::count(tensor.shape().begin(), tensor.shape().end(), 0);
  }
  return points;
}

Simplicity::Simplicity(const Case& value) : text_(to_text(value)) {
  std::int64_t axes = 0;
  std::int64_t source_shards = 0;
  std::int64_t target_shards = 0;
  std::int64_t dims = 0;
  std::int64_t rules = 0;
  for (const TensorCase& tensor : value.tensors) {
    axes += std::ssize(tensor.source.mesh().extents()) + std::ssize(tensor.target.mesh().extents());
    source_shards += sharding_axes(tensor.source);
    target_shards += sharding_axes(tensor.target);
    dims += std::ssize(tensor.shape());
    rules += rule_weight(tensor.source) + rule_weight(tensor.target);
  }
  const Options& options = value.options;
  weights_ = {std::ssize(value.tensors),
              feature_points(value),
              value.world_ranks(),
              axes,
              source_shards + target_shards,
              target_shards,
              dims,
              value.total_elements(),
              options.refits,
              options.chunk_bytes,
              options.gap_elements,
              options.batch_tensors,
              options.domain_ranks,
              options.domain_anchor,
              options.world_ranks,
              static_cast<std::int64_t>(options.fill),
              static_cast<std::int64_t>(std::min<std::uint64_t>(options.seed, INT64_MAX)),
              rules};
  for (const Fault& fault : options.faults) weights_.insert(weights_.end(), {fault.at, fault.call});
  for (const TensorCase& tensor : value.tensors) {
    weights_.push_back(static_cast<std::int64_t>(tensor.dtype));
    weights_.insert(weights_.end(), tensor.shape().begin(), tensor.shape().end());
    for (const Layout* side : {&tensor.source, &tensor.target}) {
      weights_.insert(weights_.end(), side->mesh().extents().begin(), side->mesh().extents().end());
      for (const Placement& placement : side->placements()) weights_.push_back(placement.dim);
      weights_.insert(weights_.end(), side->mesh().ranks().begin(), side->mesh().ranks().end());
    }
  }
}

bool simpler(const Case& a, const Case& b) { return Simplicity(a) < Simplicity(b); }

}  // namespace reshardcheck
