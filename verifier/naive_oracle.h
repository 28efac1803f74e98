// The naive oracle: holds what a rank has against the naive owner map, element by element.
//
// It asks two things that the definition check cannot ask of itself: did the executor put the right elements into the
// source buffers, and does every target element hold what the map, and not the interval lists, says belongs there?
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/layout/case.h"
#include "verifier/fill.h"
#include "verifier/layout_table.h"
#include "verifier/local_buffers.h"
#include "verifier/naive.h"
#include "verifier/rank_report.h"

namespace reshardcheck {

/// The naive maps of all tensors of a case, one per distinct layout.
class NaiveMaps {
 public:
  void assign(const Case& value);
  /// False for a tensor of no elements: its dims may be of any extent, and there is nothing to look at.
  [[nodiscard]] bool has(std::size_t tensor) const { return !numbers_[tensor].empty; }
  [[nodiscard]] const NaiveLayout& source(std::size_t tensor) const { return maps_[numbers_[tensor].source]; }
  [[nodiscard]] const NaiveLayout& target(std::size_t tensor) const { return maps_[numbers_[tensor].target]; }

  /// Bytes that the maps of a layout take at most; saturates.
  static std::int64_t bytes_of(const Layout& layout);

 private:
  struct Numbers {
    bool empty = true;
    std::size_t source = 0;
    std::size_t target = 0;
  };
  std::size_t map_of(const Layout& layout);

  LayoutTable table_;
  std::vector<NaiveLayout> maps_;
  std::vector<Numbers> numbers_;
};

/// Calls visit(local_offset, row_base, inner) for every row of a local tensor that may hold elements: the offset of
/// the row in memory, the row-major number of index 0 of the row, and the naive indices along the row (of which
/// padding entries are -1). A 0-d tensor is one row of one element.
template <typename Visit>
void for_each_naive_row(const NaiveLayout& map, std::size_t mesh_index, std::span<const std::int64_t> strides,
                        Visit&& visit) {
  using Indices = std::span<const std::int64_t>;
  const std::size_t dims = map.shape().size();
  if (dims == 0) {
    const std::int64_t only = 0;
    return visit(std::int64_t{0}, std::int64_t{0}, Indices(&only, 1));
  }
  std::vector<std::size_t> at(dims, 0);
  for (std::size_t dim = 0; dim < dims; ++dim) {
    if (map.indices(mesh_index, dim).empty()) return;
  }
  const Indices inner(map.indices(mesh_index, dims - 1));
  for (bool more = true; more;) {
    std::int64_t offset = 0;
    std::int64_t base = 0;
    bool padding = false;
    for (std::size_t dim = 0; dim + 1 < dims; ++dim) {
      const std::int64_t index = map.indices(mesh_index, dim)[at[dim]];
      padding = padding || index == NaiveLayout::padding;
      offset += static_cast<std::int64_t>(at[dim]) * strides[dim];
      base = (base + index) * map.shape()[dim + 1];
    }
    if (!padding) visit(offset, base, inner);
    more = false;
    for (std::size_t dim = dims - 1; dim-- > 0 && !more;) {
      more = ++at[dim] < map.indices(mesh_index, dim).size();
      if (!more) at[dim] = 0;
    }
  }
}

/// Checks the sources that were filled for a call and the targets it left. Adds to report.naive, at most once.
void check_naive(const NaiveMaps& maps, const Fill& fill, Call call, const LocalBuffers& buffers, RankReport& report);

}  // namespace reshardcheck
