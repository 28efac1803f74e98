// A hash of what tells layouts apart most often, then equality.
#include "verifier/layout_table.h"

#include <map>
#include <tuple>

#include "verifier/mix.h"

namespace reshardcheck {
namespace {

std::uint64_t hash_of(const Layout& layout) {
  std::uint64_t hash = 0;
  const auto add = [&](std::int64_t value) { hash = mix(hash ^ static_cast<std::uint64_t>(value)) + golden_ratio; };
  for (const std::int64_t extent : layout.shape()) add(extent);
  for (const std::int64_t extent : layout.mesh().extents()) add(extent);
  add(layout.mesh().ranks().front());
  for (const Placement& placement : layout.placements()) {
    add(placement.dim * 16 + static_cast<int>(placement.rule));
    add(placement.parameter);
  }
  return hash;
}

}  // namespace

std::size_t LayoutTable::number_of(const Layout& layout) {
  const std::uint64_t hash = hash_of(layout);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (layouts_[known->second] == layout) return known->second;
  }
  by_hash_.emplace(hash, layouts_.size());
  layouts_.push_back(layout);
  return layouts_.size() - 1;
}

void LayoutTable::clear() {
  layouts_.clear();
  by_hash_.clear();
}

std::vector<Geometry> distinct_geometries(const Case& value) {
  if (value.tensors.size() == 1) return {{0, 1}};  // most cases: nothing to hash
  std::vector<Geometry> geometries;
  LayoutTable layouts;
  std::map<std::tuple<std::size_t, std::size_t, Path, int>, std::size_t> known;
  for (std::size_t i = 0; i < value.tensors.size(); ++i) {
    const TensorCase& tensor = value.tensors[i];
    const std::tuple geometry(layouts.number_of(tensor.source), layouts.number_of(tensor.target), tensor.path,
                              width_bytes(tensor.dtype));
    const auto [number, is_new] = known.emplace(geometry, geometries.size());
    if (is_new) geometries.push_back({i, 0});
    ++geometries[number->second].tensors;
  }
  return geometries;
}

}  // namespace reshardcheck
