// Misreadings: what a mutant takes a layout for, and the plan it makes of that.
//
// Most layout bugs are one wrong answer to "what does this rank hold, and in what order". A SeenSide holds that answer
// for every mesh index as plain pieces, which a misreading changes. The plan is then made from what was seen on both
// sides, while the buffers keep their true shapes.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/plan/plan.h"
#include "core/plan/planner.h"
#include "core/subject/deviation.h"

namespace reshardcheck {

struct SeenSide {
  static constexpr Rank no_rank = -1;

  SeenSide(const Layout& true_layout, bool source) : layout(true_layout), is_source(source) {
    const std::span<const Rank> mesh_ranks = layout.mesh().ranks();
    ranks.assign(mesh_ranks.begin(), mesh_ranks.end());
    take_pieces_of(layout);
  }

  const Layout& layout;  // the truth
  bool is_source;
  std::vector<Rank> ranks;  // by mesh index; no_rank for one that seems to take no part

  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  [[nodiscard]] std::size_t dims() const { return layout.dims(); }
  [[nodiscard]] const Shape& shape() const { return layout.shape(); }
  [[nodiscard]] DimPiece& piece(std::size_t index, std::size_t dim) { return pieces_[index * dims() + dim]; }
  [[nodiscard]] const DimPiece& piece(std::size_t index, std::size_t dim) const {
    return pieces_[index * dims() + dim];
  }
  /// The pieces of all dims of a mesh index.
  [[nodiscard]] std::span<const DimPiece> shard(std::size_t index) const {
    return std::span<const DimPiece>(pieces_).subspan(index * dims(), dims());
  }
  /// Sees the pieces of another layout on the same mesh and shape.
  void take_pieces_of(const Layout& other);

  /// Mesh axes that shard a dim, left to right.
  [[nodiscard]] std::vector<std::size_t> axes_of(std::size_t dim) const;

 private:
  std::vector<DimPiece> pieces_;  // by mesh index, then dim
};

/// The plan that follows from what is seen: each piece from one of the ranks that seem to hold it, or gathered and
/// broadcast.
Plan plan_from(PlannerKind planner, const SeenSide& source, const SeenSide& target);

/// A deviation that plans from sides that `misreading` has changed, and plans as the reference where it has
/// changed nothing.
Deviation misread(std::function<void(SeenSide&)> misreading);
/// The same for bugs that look at both sides at once.
Deviation misread_both(std::function<void(SeenSide& source, SeenSide& target)> misreading);

}  // namespace reshardcheck
