// Mesh: an N-D grid of distinct ranks, as PyTorch's DeviceMesh.
//
// Extents plus a row-major rank list, in any order and with any gaps. A rank is a participant of the world; a
// coordinate (or its row-major number, the mesh index) is a place in the grid. The two are never mixed up here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/layout/result.h"

namespace reshardcheck {

using Rank = std::int32_t;

class Mesh {
 public:
  /// A grid of `extents` (at least one axis, each at least 1) filled row-major with `ranks`. Error when the
  /// count is wrong, a rank repeats or lies outside [0, limits::max_ranks), or there are too many axes.
  static Result<Mesh> make(std::vector<std::int64_t> extents, std::vector<Rank> ranks);

  /// A grid of `extents` filled with first_rank, first_rank+1, ...
  static Result<Mesh> consecutive(std::vector<std::int64_t> extents, std::int64_t first_rank);

  [[nodiscard]] std::span<const std::int64_t> extents() const { return extents_; }
  [[nodiscard]] std::span<const Rank> ranks() const { return ranks_; }
  [[nodiscard]] std::size_t axes() const { return extents_.size(); }
  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  [[nodiscard]] Rank highest_rank() const { return highest_; }
  [[nodiscard]] Rank lowest_rank() const { return lowest_; }

  /// True when the rank list counts up by one from its first entry (the `@first` form of the notation).
  [[nodiscard]] bool is_consecutive() const { return consecutive_; }

  /// The mesh index of a rank, or nothing when the rank is not in this mesh.
  [[nodiscard]] std::optional<std::size_t> index_of(Rank rank) const;

  /// The coordinate along `axis` of a mesh index.
  [[nodiscard]] std::int64_t coordinate(std::size_t mesh_index, std::size_t axis) const;

  /// "2x2@4" or "4{7,1,3,5}".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Mesh& a, const Mesh& b) { return a.extents_ == b.extents_ && a.ranks_ == b.ranks_; }

 private:
  Mesh() = default;

  std::vector<std::int64_t> extents_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> by_rank_;  // mesh indices in ascending rank order; empty when consecutive
  Rank lowest_ = 0;
  Rank highest_ = 0;
  bool consecutive_ = true;
};

}  // namespace reshardcheck
