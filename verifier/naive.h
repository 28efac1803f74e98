// NaiveLayout: who owns what, worked out element by element from the placement rules alone.
//
// A deliberately slow and literal second opinion on core/layout. For every dim it deals out a list of index numbers,
// one entry per element, by the words of each rule; padding is -1. It shares nothing with interval lists, split() or
// the tables of Layout: it reads the shape, the mesh (extents and ranks) and the fields of the placements. What it
// says is held against what the executor filled and against every target element.
//
// The rules, for an axis of k coordinates over a list of n entries:
//   chunk, even   entry p goes to coordinate p / ceil(n / k)
//   balanced      all axes of the dim act as one axis of their product; the first n % k coordinates get one more
//   padded        the list grows by -1 to a multiple of `parameter`, then of k; then chunk
//   cuts          sizes[c] entries each
//   segments      entries are sorted into segments by their index; each segment is chunked by itself, and the -1
//                 entries that an earlier axis left are one more segment
//   strided       the list is cut in `parameter` chunks; each is chunked by itself
// Axes apply left to right, each to the list that the axes before it left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"

namespace reshardcheck {

class NaiveLayout {
 public:
  static constexpr std::int64_t padding = -1;

  NaiveLayout(const Shape& shape, const Mesh& mesh, std::span<const Placement> placements);

  /// The global indices, in local order, that the coordinate at a mesh index holds of a dim, padding included.
  [[nodiscard]] const std::vector<std::int64_t>& indices(std::size_t mesh_index, std::size_t dim) const;

  /// The rank that serves a shard in the gather-broadcast oracle: true when the coordinates of all replicating axes
  /// are 0, so that exactly one rank per distinct shard says so.
  [[nodiscard]] bool is_first_replica(std::size_t mesh_index) const;

  [[nodiscard]] std::size_t mesh_size() const { return mesh_size_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }

 private:
  [[nodiscard]] std::int64_t coordinate(std::size_t mesh_index, std::size_t axis) const;

  struct Dim {
    std::vector<std::size_t> axes;                 // that shard it, left to right
    std::vector<std::vector<std::int64_t>> lists;  // by the axes' coordinates, row-major
  };
  Shape shape_;
  std::vector<std::int64_t> mesh_extents_;
  std::size_t mesh_size_ = 1;
  std::vector<bool> replicates_;  // by axis
  std::vector<Dim> dims_;
};

}  // namespace reshardcheck
