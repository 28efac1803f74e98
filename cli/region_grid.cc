// Regions come from sorting the intervals of a dim's pieces: they tile the dim, whatever rule made them.
#include "cli/region_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace reshardcheck::cli {
namespace {

struct Region {
  std::int64_t begin = 0;
  std::size_t piece = 0;
};

/// For every region between the boundaries, the piece of the dim that holds it. Every element of a dim is in exactly
/// one piece, so the intervals of all pieces, sorted, tile the dim.
std::vector<std::size_t> pieces_of_regions(const Layout& layout, int dim, const Boundaries& bounds) {
  if (dim < 0) return {0};
  std::vector<Region> regions;
  const auto pieces = layout.pieces(static_cast<std::size_t>(dim));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (const Interval& interval : pieces[i].owned.intervals()) regions.push_back({interval.begin, i});
  }
  std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) { return a.begin < b.begin; });
  std::vector<std::size_t> result;
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    while (at + 1 < regions.size() && regions[at + 1].begin <= bounds[i]) ++at;
    result.push_back(regions[at].piece);
  }
  return result;
}

/// What one step of a dim's piece index adds to a shard number: shards count row-major over the piece indices.
std::vector<std::size_t> shard_strides(const Layout& layout) {
  std::vector<std::size_t> strides(layout.dims(), 1);
  for (std::size_t dim = layout.dims(); dim-- > 1;) strides[dim - 1] = strides[dim] * layout.pieces(dim).size();
  return strides;
}

}  // namespace

std::string View::text(const TensorCase& tensor) const {
  const int dims = static_cast<int>(tensor.source.dims());
  if (dims == 0) return "one element";
  const std::string result = row_dim < 0 ? fmt::format("columns are dim {}", column_dim)
                                         : fmt::format("rows are dim {}, columns dim {}", row_dim, column_dim);
  std::string fixed;  // dims that are cut but not drawn
  for (int dim = 0; dim < dims; ++dim) {
    const bool cut = boundaries(tensor.source, dim).size() > 2 || boundaries(tensor.target, dim).size() > 2;
    if (dim != row_dim && dim != column_dim && cut) fixed += fmt::format("{}dim {}", fixed.empty() ? "" : ", ", dim);
  }
  if (fixed.empty()) return result;
  return fmt::format("{} ({} at index 0: the other shards are not in the picture)", result, fixed);
}

View choose_view(const TensorCase& tensor) {
  const int dims = static_cast<int>(tensor.source.dims());
  if (dims == 0) return {};
  if (dims == 1) return {-1, 0};
  std::vector<int> order(static_cast<std::size_t>(dims));
  std::iota(order.begin(), order.end(), 0);
  const auto cuts = [&tensor](int dim) {
    return boundaries(tensor.source, dim).size() + boundaries(tensor.target, dim).size();
  };
  std::stable_sort(order.begin(), order.end(), [&cuts](int a, int b) { return cuts(a) > cuts(b); });
  return {std::min(order[0], order[1]), std::max(order[0], order[1])};
}

Boundaries boundaries(const Layout& layout, int dim) {
  if (dim < 0) return {0, 1};
  Boundaries result{0, layout.shape()[static_cast<std::size_t>(dim)]};
  for (const DimPiece& piece : layout.pieces(static_cast<std::size_t>(dim))) {
    for (const Interval& interval : piece.owned.intervals()) result.push_back(interval.begin);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Boundaries merged(const Boundaries& a, const Boundaries& b) {
  Boundaries result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

RegionGrid region_grid(const Layout& layout, const View& view, Boundaries rows, Boundaries columns) {
  const std::vector<std::size_t> strides = shard_strides(layout);
  std::size_t base = 0;
  for (int dim = 0; dim < static_cast<int>(layout.dims()); ++dim) {
    if (dim == view.row_dim || dim == view.column_dim) continue;
    const std::vector<std::size_t> piece = pieces_of_regions(layout, dim, boundaries(layout, dim));
    if (piece.empty()) return {{0}, {0}, {}};
    base += piece.front() * strides[static_cast<std::size_t>(dim)];
  }
  const std::vector<std::size_t> row_pieces = pieces_of_regions(layout, view.row_dim, rows);
  const std::vector<std::size_t> column_pieces = pieces_of_regions(layout, view.column_dim, columns);
  const std::size_t row_stride = view.row_dim < 0 ? 0 : strides[static_cast<std::size_t>(view.row_dim)];
  const std::size_t column_stride = view.column_dim < 0 ? 0 : strides[static_cast<std::size_t>(view.column_dim)];
  RegionGrid grid{std::move(rows), std::move(columns), {}};
  for (const std::size_t row : row_pieces) {
    for (const std::size_t column : column_pieces) {
      grid.shards.push_back(base + row * row_stride + column * column_stride);
    }
  }
  return grid;
}

std::string shard_label(const Layout& layout, std::size_t shard) {
  constexpr std::size_t most_shown = 3;
  const auto ranks = layout.replicas(shard);
  std::string result;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (shown++ == most_shown) return fmt::format("{},+{}", result, ranks.size() - i);
    if (last - i < 2) last = i;  // a pair is two ranks, not a run
    result += (result.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (last > i) result += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return result;
}

}  // namespace reshardcheck::cli
