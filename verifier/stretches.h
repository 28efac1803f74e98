// Stretches: the elements of a shard as runs that are consecutive both in memory and in the global tensor.
//
// Everything the verifier does to a local tensor (fill, poison, check) works on stretches: whole rows at least, the
// whole shard when only the outermost dim is sharded. They come in ascending local order, so what lies between two
// of them is padding or gap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/layout/layout.h"
#include "core/layout/limits.h"

namespace reshardcheck {

struct Stretch {
  std::int64_t local_offset = 0;  // elements from local index 0
  std::int64_t global_index = 0;  // row-major
  std::int64_t count = 0;
};

/// A cursor over the local positions of one dim that hold elements.
struct DimCursor {
  std::span<const Interval> intervals;
  std::size_t interval = 0;
  std::int64_t global = 0;
  std::int64_t local = 0;

  explicit DimCursor(std::span<const Interval> list = {}) : intervals(list) { restart(); }
  void restart() {
    interval = 0;
    local = 0;
    global = intervals.empty() ? 0 : intervals[0].begin;
  }
  /// Steps to the next position; false, and at the start again, when there is none.
  bool advance() {
    local += 1;
    global += 1;
    if (global < intervals[interval].end) return true;
    if (++interval < intervals.size()) {
      global = intervals[interval].begin;
      return true;
    }
    restart();
    return false;
  }
};

/// Calls visit(const Stretch&) for every stretch of the shard at a mesh index whose local tensor has `strides`.
template <typename Visit>
void for_each_stretch(const Layout& layout, std::size_t mesh_index, std::span<const std::int64_t> strides,
                      Visit&& visit) {
  const std::size_t dims = layout.dims();
  if (dims == 0) return visit(Stretch{0, 0, 1});

  std::array<std::int64_t, limits::max_dims> global_strides{};
  std::array<DimCursor, limits::max_dims> cursors;
  std::int64_t stride = 1;
  for (std::size_t dim = dims; dim-- > 0;) {
    global_strides[dim] = stride;
    stride *= layout.shape()[dim];
    cursors[dim] = DimCursor(layout.piece(mesh_index, dim).owned.intervals());
    if (cursors[dim].intervals.empty()) return;
  }
  // Dims that are whole and dense on both sides melt into the one before them.
  std::size_t inner = dims - 1;
  while (inner > 0 && layout.piece(mesh_index, inner).owned.size() == layout.shape()[inner] &&
         cursors[inner].intervals.size() == 1 && strides[inner - 1] == layout.shape()[inner] * strides[inner]) {
    inner -= 1;
  }

  for (bool more = true; more;) {
    std::int64_t local = 0;
    std::int64_t global = 0;
    for (std::size_t dim = 0; dim < inner; ++dim) {
      local += cursors[dim].local * strides[dim];
      global += cursors[dim].global * global_strides[dim];
    }
    for (const Interval& interval : cursors[inner].intervals) {
      const std::int64_t count = interval.size() * global_strides[inner];
      visit(Stretch{local, global + interval.begin * global_strides[inner], count});
      local += interval.size() * strides[inner];
    }
    more = false;
    for (std::size_t dim = inner; dim-- > 0 && !more;) more = cursors[dim].advance();
  }
}

}  // namespace reshardcheck
