#include "core/layout/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/layout/limits.h"

namespace reshardcheck {
namespace {

/// Splits every piece of a table over one more axis, left to right.
Status split_table(std::vector<DimPiece>& pieces, const Placement& placement, std::int64_t parts) {
  std::int64_t intervals = 0;
  for (const DimPiece& piece : pieces) {
    intervals += split_intervals(piece, placement, parts);
    if (intervals > limits::max_intervals) {
      return Error{fmt::format("the split may make more than {} intervals", limits::max_intervals)};
    }
  }
  std::vector<DimPiece> finer;
  for (const DimPiece& piece : pieces) {
    Result<std::vector<DimPiece>> parted = split(piece, placement, parts);
    if (!parted) return parted.error();
    std::move(parted->begin(), parted->end(), std::back_inserter(finer));
  }
  pieces = std::move(finer);
  return Ok{};
}

bool overflows_product(std::span<const std::int64_t> extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product)) return true;
  }
  return false;
}

/// Clears the members that the placement's kind and rule do not use: equal text is then equal value.
void normalise(Placement& placement) {
  if (placement.is_replicate()) placement = Placement::replicate();
  const bool sized = placement.rule == SplitRule::cuts || placement.rule == SplitRule::segments;
  const bool parametrised = placement.rule == SplitRule::padded || placement.rule == SplitRule::strided;
  if (!sized) placement.sizes.clear();
  if (!parametrised) placement.parameter = 0;
}

}  // namespace

Result<std::int64_t> checked_elements(std::span<const std::int64_t> shape) {
  if (std::ssize(shape) > limits::max_dims) {
    return Error{fmt::format("a tensor of {} dims; at most {} are supported", shape.size(), limits::max_dims)};
  }
  for (const std::int64_t extent : shape) {
    if (extent < 0) return Error{fmt::format("a dim of extent {}", extent)};
  }
  if (overflows_product(shape)) return Error{"the number of elements overflows 64 bits"};
  return elements(shape);
}

std::int64_t elements(std::span<const std::int64_t> shape) {
  // A zero extent anywhere makes the product zero; multiplying it first keeps intermediate products in range.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Status Layout::check_placements(const Data& data) {
  if (data.placements.size() != data.mesh.axes()) {
    return Error{fmt::format("{} placements for a mesh of {} axes; give one per axis", data.placements.size(),
                             data.mesh.axes())};
  }
  for (std::size_t axis = 0; axis < data.placements.size(); ++axis) {
    const Placement& placement = data.placements[axis];
    if (placement.is_replicate()) continue;
    if (placement.dim < 0 || placement.dim >= std::ssize(data.shape)) {
      return Error{fmt::format("dim {} does not exist: the tensor has {} dims", placement.dim, data.shape.size()),
                   axis};
    }
    if (placement.rule == SplitRule::padded && placement.parameter < 1) {
      return Error{fmt::format("pad={}; the multiple starts at 1", placement.parameter), axis};
    }
    if (placement.rule == SplitRule::strided &&
        (placement.parameter < 1 || placement.parameter > limits::max_split_factor)) {
      return Error{fmt::format("split factor {} is outside 1..{}", placement.parameter, limits::max_split_factor),
                   axis};
    }
    if (placement.rule == SplitRule::segments || placement.rule == SplitRule::cuts) {
      if (std::ssize(placement.sizes) > limits::max_sizes) return Error{"too many sizes", axis};
      std::int64_t sum = 0;
      for (const std::int64_t size : placement.sizes) {
        if (size < 0 || __builtin_add_overflow(sum, size, &sum)) return Error{fmt::format("bad size {}", size), axis};
      }
      const std::int64_t extent = data.shape[static_cast<std::size_t>(placement.dim)];
      if (sum != extent) {
        return Error{
            fmt::format("{} sum to {}, dim {} has extent {}", name(placement.rule), sum, placement.dim, extent), axis};
      }
    }
  }
  return Ok{};
}

Status Layout::fill_table(Data& data, std::size_t dim) {
  DimTable& table = data.tables[dim];
  std::int64_t balanced_parts = 1;
  std::size_t balanced_axes = 0;
  for (std::size_t axis = 0; axis < data.placements.size(); ++axis) {
    const Placement& placement = data.placements[axis];
    if (placement.dim != static_cast<int>(dim)) continue;
    table.axes.push_back(axis);
    if (placement.rule == SplitRule::balanced) {
      balanced_axes += 1;
      balanced_parts *= data.mesh.extents()[axis];
    }
    if (placement.rule == SplitRule::cuts && table.axes.size() > 1) {
      return Error{fmt::format("cuts must be the only axis on dim {}", dim), axis};
    }
  }
  const std::size_t first = table.axes.empty() ? 0 : table.axes.front();
  if (table.axes.size() > 1 && data.placements[first].rule == SplitRule::cuts) {
    return Error{fmt::format("cuts must be the only axis on dim {}", dim), first};
  }
  if (balanced_axes > 0 && balanced_axes < table.axes.size()) {
    return Error{fmt::format("balanced does not mix with other rules on dim {}", dim), first};
  }

  const std::int64_t extent = data.shape[dim];
  table.pieces = {DimPiece{IntervalList({0, extent}), extent}};
  if (balanced_axes > 0) {  // the axes act as one axis of the product extent
    const Status done = split_table(table.pieces, data.placements[first], balanced_parts);
    return done ? done : Error{done.error().reason, first};
  }
  for (const std::size_t axis : table.axes) {
    const Status done = split_table(table.pieces, data.placements[axis], data.mesh.extents()[axis]);
    if (!done) return Error{done.error().reason, axis};
  }
  return Ok{};
}

Status Layout::check_local_sizes(const Data& data) {
  Shape largest;
  for (const DimTable& table : data.tables) {
    std::int64_t extent = 0;
    for (const DimPiece& piece : table.pieces) extent = std::max(extent, piece.local_extent);
    largest.push_back(extent);
  }
  if (overflows_product(largest)) return Error{"the padded local tensor overflows 64 bits"};
  return Ok{};
}

void Layout::number_shards(Data& data) {
  data.shards = 1;
  for (std::size_t dim = data.tables.size(); dim-- > 0;) {
    data.tables[dim].shard_stride = data.shards;
    data.shards *= data.tables[dim].pieces.size();
  }
  const std::size_t mesh_size = data.mesh.size();
  const std::size_t replica_count = mesh_size / data.shards;
  data.shard_of.assign(mesh_size, 0);
  data.replicas.resize(mesh_size);

  // What one step along each axis adds to the shard number: axes of one dim are digits of its piece index.
  std::vector<std::size_t> axis_step(data.mesh.axes(), 0);
  for (const DimTable& table : data.tables) {
    std::size_t step = table.shard_stride;
    for (std::size_t i = table.axes.size(); i-- > 0;) {
      axis_step[table.axes[i]] = step;
      step *= static_cast<std::size_t>(data.mesh.extents()[table.axes[i]]);
    }
  }
  std::vector<std::size_t> filled(data.shards, 0);
  std::vector<std::int64_t> coordinate(data.mesh.axes(), 0);
  std::size_t shard = 0;
  for (std::size_t index = 0; index < mesh_size; ++index) {
    data.shard_of[index] = static_cast<std::uint32_t>(shard);
    data.replicas[shard * replica_count + filled[shard]++] = data.mesh.ranks()[index];
    for (std::size_t axis = data.mesh.axes(); axis-- > 0;) {  // odometer
      const std::int64_t extent = data.mesh.extents()[axis];
      shard += axis_step[axis];
      if (++coordinate[axis] < extent) break;
      shard -= axis_step[axis] * static_cast<std::size_t>(extent);
      coordinate[axis] = 0;
    }
  }
}

Result<Layout> Layout::make(Shape shape, Mesh mesh, std::vector<Placement> placements) {
  const Result<std::int64_t> count = checked_elements(shape);
  if (!count) return count.error();
  for (Placement& placement : placements) normalise(placement);
  Data data{std::move(shape), std::move(mesh), std::move(placements), {}, {}, {}, 1};
  const Status placed = check_placements(data);
  if (!placed) return placed.error();
  data.tables.resize(data.shape.size());
  for (std::size_t dim = 0; dim < data.shape.size(); ++dim) {
    const Status filled = fill_table(data, dim);
    if (!filled) return filled.error();
  }
  const Status fits = check_local_sizes(data);
  if (!fits) return fits.error();
  number_shards(data);
  return Layout(std::make_shared<const Data>(std::move(data)));
}

std::size_t Layout::piece_index(std::size_t mesh_index, std::size_t dim) const {
  return shard_piece_index(shard_of(mesh_index), dim);
}

Shape Layout::local_shape(std::size_t mesh_index) const {
  Shape result(dims());
  for (std::size_t dim = 0; dim < dims(); ++dim) result[dim] = piece(mesh_index, dim).local_extent;
  return result;
}

std::int64_t Layout::local_elements(std::size_t mesh_index) const {
  std::int64_t count = 1;
  for (std::size_t dim = 0; dim < dims(); ++dim) {
    const std::int64_t extent = piece(mesh_index, dim).local_extent;
    if (extent == 0) return 0;
    count *= extent;
  }
  return count;
}

std::int64_t Layout::owned_elements(std::size_t mesh_index) const {
  std::int64_t count = 1;
  for (std::size_t dim = 0; dim < dims(); ++dim) {
    const std::int64_t size = piece(mesh_index, dim).owned.size();
    if (size == 0) return 0;
    count *= size;
  }
  return count;
}

std::string Layout::text() const {
  std::string result = mesh().text() + " ";
  for (std::size_t axis = 0; axis < placements().size(); ++axis) {
    if (axis > 0) result += ",";
    result += placements()[axis].text();
  }
  return result;
}

bool operator==(const Layout& a, const Layout& b) {
  if (a.data_ == b.data_) return true;
  return a.data_->shape == b.data_->shape && a.data_->mesh == b.data_->mesh &&
         a.data_->placements == b.data_->placements;
}

}  // namespace reshardcheck
