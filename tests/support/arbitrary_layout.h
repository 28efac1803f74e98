// RapidCheck generators of layouts and cases for the laws of the lower rooms, and how they print.
//
// Everything that comes out is valid by construction: a style is drawn for each dim (one kind of axis that may mix, or
// the rules that must stand alone), then an axis draws its rule within the style of its dim. Sizes stay small, because
// layout bugs do: extents up to 12 with zero among them, up to three axes, up to 16 ranks in any order and with gaps.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/notation.h"

namespace reshardcheck {

// Found by argument-dependent lookup when a property fails.
inline void showValue(const Layout& layout, std::ostream& stream) { stream << layout.text(); }
inline void showValue(const Case& value, std::ostream& stream) { stream << to_text(value); }
inline void showValue(const Mesh& mesh, std::ostream& stream) { stream << mesh.text(); }
inline void showValue(const IntervalList& list, std::ostream& stream) { stream << list.text(); }

namespace arbitrary {

/// An integer of [low, high], both included.
inline rc::Gen<std::int64_t> integer(std::int64_t low, std::int64_t high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

inline rc::Gen<bool> one_in(std::int64_t n) {
  return rc::gen::map(integer(1, n), [n](std::int64_t drawn) { return drawn == n; });
}

inline rc::Gen<Shape> shape() {
  return rc::gen::exec([] {
    Shape shape;
    const std::int64_t dims = *integer(0, 3);
    for (std::int64_t i = 0; i < dims; ++i) shape.push_back(*integer(0, 12));
    return shape;
  });
}

/// `parts` sizes of 0 and more that sum to `total`.
inline rc::Gen<std::vector<std::int64_t>> sizes(std::int64_t total, std::int64_t parts) {
  return rc::gen::exec([total, parts] {
    std::vector<std::int64_t> marks = {0, total};
    for (std::int64_t i = 1; i < parts; ++i) marks.push_back(*integer(0, total));
    std::sort(marks.begin(), marks.end());
    std::vector<std::int64_t> result;
    for (std::size_t i = 1; i < marks.size(); ++i) result.push_back(marks[i] - marks[i - 1]);
    return result;
  });
}

inline rc::Gen<Mesh> mesh() {
  return rc::gen::exec([] {
    std::vector<std::int64_t> extents;
    std::int64_t size = 1;
    const std::int64_t axes = *integer(1, 3);
    for (std::int64_t i = 0; i < axes; ++i) {
      extents.push_back(*integer(1, std::min<std::int64_t>(4, 16 / size)));
      size *= extents.back();
    }
    if (*one_in(2)) return *Mesh::consecutive(extents, *integer(0, 20));
    std::vector<Rank> ranks(32);
    std::iota(ranks.begin(), ranks.end(), 0);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t other = *integer(i, 31);
      std::swap(ranks[static_cast<std::size_t>(i)], ranks[static_cast<std::size_t>(other)]);
    }
    ranks.resize(static_cast<std::size_t>(size));
    return *Mesh::make(extents, ranks);
  });
}

/// A placement that shards `dim`, whose extent is `extent`, by a rule that mixes with others.
inline rc::Gen<Placement> mixing_placement(int dim, std::int64_t extent) {
  return rc::gen::exec([dim, extent] {
    switch (*integer(0, 4)) {
      case 0:
        return Placement::shard(dim, SplitRule::padded);
      case 1:
        return Placement::padded(dim, *integer(1, 9));
      case 2:
        return Placement::segments(dim, *sizes(extent, *integer(1, 4)));
      case 3:
        return Placement::strided(dim, *integer(1, 5));
      default:
        return Placement::shard(dim);
    }
  });
}

/// A layout of `shape`, by all rules of the notation.
inline rc::Gen<Layout> layout(const Shape& shape) {
  return rc::gen::exec([shape] {
    const Mesh grid = *mesh();
    enum class Style { mixing, balanced, even, cuts };
    std::vector<Style> styles;
    std::vector<bool> taken(shape.size(), false);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      styles.push_back(*rc::gen::weightedElement<Style>(
          {{5, Style::mixing}, {1, Style::balanced}, {1, Style::even}, {1, Style::cuts}}));
    }
    std::vector<Placement> placements;
    std::vector<std::int64_t> left(shape.begin(), shape.end());  // what an even axis must divide
    for (const std::int64_t parts : grid.extents()) {
      placements.push_back(Placement::replicate());
      const std::int64_t drawn = *integer(-1, static_cast<std::int64_t>(shape.size()) - 1);
      if (drawn < 0) continue;
      const std::size_t dim = static_cast<std::size_t>(drawn);
      const int number = static_cast<int>(drawn);
      switch (styles[dim]) {
        case Style::mixing:
          placements.back() = *mixing_placement(number, shape[dim]);
          break;
        case Style::balanced:
          placements.back() = Placement::shard(number, SplitRule::balanced);
          break;
        case Style::even:
          if (left[dim] % parts == 0) placements.back() = Placement::shard(number, SplitRule::even);
          break;
        case Style::cuts:
          if (!taken[dim]) placements.back() = Placement::cuts(number, *sizes(shape[dim], parts));
          break;
      }
      if (placements.back().is_shard()) {
        taken[dim] = true;
        left[dim] /= parts;
      }
    }
    return *Layout::make(shape, grid, placements);
  });
}

inline rc::Gen<Layout> layout() {
  return rc::gen::exec([] { return *layout(*shape()); });
}

inline rc::Gen<Options> options() {
  return rc::gen::exec([] {
    Options options;
    if (*one_in(3)) options.world_ranks = *integer(36, 64);  // meshes name ranks up to 35
    if (*one_in(2)) options.domain_ranks = *integer(1, 8);
    if (options.domain_ranks != 0 && *one_in(2)) options.domain_anchor = *integer(0, 31);
    options.fill = *rc::gen::element(FillKind::digits, FillKind::hash, FillKind::special, FillKind::provenance);
    if (*one_in(2)) options.seed = *rc::gen::arbitrary<std::uint64_t>();
    if (*one_in(3)) options.refits = *integer(1, 5);
    if (*one_in(3)) options.chunk_bytes = *integer(0, 64);
    if (*one_in(3)) options.gap_elements = *integer(0, 3);
    if (*one_in(3)) options.batch_tensors = *integer(0, 3);
    const std::int64_t faults = *one_in(4) ? *integer(1, 3) : 0;
    for (std::int64_t i = 0; i < faults; ++i) {
      options.faults.push_back({static_cast<FaultKind>(*integer(0, 6)), *integer(0, 40), *integer(0, 5)});
    }
    return options;
  });
}

inline rc::Gen<Case> case_value() {
  return rc::gen::exec([] {
    Case value;
    const std::int64_t tensors = *integer(1, 3);
    for (std::int64_t i = 0; i < tensors; ++i) {
      const Shape extents = *shape();
      const std::string name = *rc::gen::element<std::string>("", "gate", "_x", "model.layers.0/q-proj");
      const DType dtype = all_dtypes[static_cast<std::size_t>(*integer(0, std::ssize(all_dtypes) - 1))];
      const Path path = *rc::gen::element(Path::reshard, Path::gather_broadcast);
      value.tensors.push_back({name, dtype, path, *layout(extents), *layout(extents)});
    }
    value.options = *options();
    return value;
  });
}

}  // namespace arbitrary
}  // namespace reshardcheck
