// RegionGrid: a layout as a flat picture needs it: rectangles of elements and the shard that holds each.
//
// A picture has two dims of the tensor, the ones that are cut most; the others are fixed at index 0 (every dim is cut
// alike at all indices of the others, so such a slice shows all there is to see of these two). Regions are what lies
// between the boundaries of pieces, so a picture is as large as the number of cuts, never as the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/layout/case.h"

namespace reshardcheck::cli {

/// Which dims run down and across; -1 where the tensor has fewer than two (a 1-d tensor is a row).
struct View {
  int row_dim = -1;
  int column_dim = -1;

  /// "rows are dim 0, columns dim 1 (dim 2 at index 0: the other shards are not in the picture)".
  [[nodiscard]] std::string text(const TensorCase& tensor) const;
};

View choose_view(const TensorCase& tensor);

/// Sorted boundaries of the regions of one dim, from 0 to its extent; {0, 1} for a dim the tensor lacks. Extent 0 has
/// the one boundary 0 and no region.
using Boundaries = std::vector<std::int64_t>;
Boundaries boundaries(const Layout& layout, int dim);
Boundaries merged(const Boundaries& a, const Boundaries& b);

struct RegionGrid {
  Boundaries rows;
  Boundaries columns;
  std::vector<std::size_t> shards;  // of the regions, row-major

  [[nodiscard]] std::size_t row_count() const { return rows.size() - 1; }
  [[nodiscard]] std::size_t column_count() const { return columns.size() - 1; }
  [[nodiscard]] std::size_t shard(std::size_t row, std::size_t column) const {
    return shards[row * column_count() + column];
  }
};

/// The grid of a layout over these boundaries, which must include its own. Empty when a dim outside the view has
/// extent 0.
RegionGrid region_grid(const Layout& layout, const View& view, Boundaries rows, Boundaries columns);

/// The ranks that hold a shard, short: "3", "0-3", "7,1,3", "0,2,4,+5".
std::string shard_label(const Layout& layout, std::size_t shard);

}  // namespace reshardcheck::cli
