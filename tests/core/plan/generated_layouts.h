// Random pairs of layouts for the laws of this room: small meshes of arbitrary rank lists that may overlap, every
// split rule alone and composed, empty and 0-d tensors, and domains counted from an anchor.
#pragma once

#include <rapidcheck.h>

#include <ostream>

#include "core/layout/layout.h"
#include "core/plan/topology.h"

namespace reshardcheck {

struct LayoutPair {
  Layout source;
  Layout target;
  Topology topology;
};

inline void showValue(const LayoutPair& pair, std::ostream& out) {
  out << "[";
  for (const std::int64_t extent : pair.source.shape()) out << extent << ",";
  out << "] " << pair.source.text() << " -> " << pair.target.text() << " | domain=" << pair.topology.domain_ranks << "@"
      << pair.topology.anchor;
}

namespace generated {

inline std::int64_t number(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

/// `parts` sizes, some of them zero, that sum to `extent`.
inline std::vector<std::int64_t> sizes(std::int64_t extent, std::int64_t parts) {
  std::vector<std::int64_t> result;
  for (std::int64_t left = parts - 1; left > 0; --left) {
    result.push_back(number(0, extent));
    extent -= result.back();
  }
  result.push_back(extent);
  return result;
}

inline Mesh mesh() {
  std::vector<std::int64_t> extents;
  std::int64_t size = 1;
  for (std::int64_t axes = number(1, 3); axes > 0; --axes) {
    extents.push_back(number(1, std::min<std::int64_t>(4, 12 / size)));
    size *= extents.back();
  }
  if (number(0, 1) == 0) return *Mesh::consecutive(extents, number(0, 12));
  std::vector<Rank> pool;
  for (Rank rank = 0; rank < 20; ++rank) pool.push_back(rank);
  std::vector<Rank> ranks;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = pool.begin() + number(0, std::ssize(pool) - 1);
    ranks.push_back(*at);
    pool.erase(at);
  }
  return *Mesh::make(extents, ranks);
}

inline Placement placement(const Shape& shape, std::int64_t parts) {
  if (shape.empty() || number(0, 3) == 0) return Placement::replicate();
  const int dim = static_cast<int>(number(0, std::ssize(shape) - 1));
  const std::int64_t extent = shape[static_cast<std::size_t>(dim)];
  switch (all_rules[number(0, std::ssize(all_rules) - 1)]) {
    case SplitRule::padded:
      return Placement::padded(dim, number(1, 5));
    case SplitRule::strided:
      return Placement::strided(dim, number(1, 4));
    case SplitRule::cuts:
      return Placement::cuts(dim, sizes(extent, parts));
    case SplitRule::segments:
      return Placement::segments(dim, sizes(extent, number(1, 4)));
    case SplitRule::balanced:
      return Placement::shard(dim, SplitRule::balanced);
    case SplitRule::even:
      return Placement::shard(dim, SplitRule::even);
    case SplitRule::chunk:
      break;
  }
  return Placement::shard(dim);
}

/// Rules that do not go together on a dim, or do not divide, become chunk, which always does.
inline Layout layout(const Shape& shape) {
  const Mesh grid = mesh();
  std::vector<Placement> placements;
  for (const std::int64_t extent : grid.extents()) placements.push_back(placement(shape, extent));
  for (std::size_t axis = 0;; ++axis) {
    Result<Layout> made = Layout::make(shape, grid, placements);
    if (made) return *made;
    RC_ASSERT(axis < placements.size());
    if (placements[axis].is_shard()) placements[axis] = Placement::shard(placements[axis].dim);
  }
}

}  // namespace generated

inline rc::Gen<LayoutPair> layout_pairs() {
  return rc::gen::exec([] {
    Shape shape;
    for (std::int64_t dims = generated::number(0, 3); dims > 0; --dims) shape.push_back(generated::number(0, 12));
    Topology topology;
    if (generated::number(0, 3) > 0) topology = {generated::number(1, 6), generated::number(0, 5)};
    Layout source = generated::layout(shape);
    Layout target = generated::layout(shape);
    return LayoutPair{source, target, topology};
  });
}

}  // namespace reshardcheck
