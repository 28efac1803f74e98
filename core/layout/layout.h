// Layout: a tensor shape dealt out over a mesh. It answers which elements each rank holds and in what order.
//
// For every dim the layout keeps one table of pieces: one entry for each combination of coordinates of the axes
// that shard the dim. A rank holds the product of one piece per dim (its shard). Axes that replicate do not
// appear in any table, so ranks that differ only there share a shard: they are one replica group. Tables cost
// memory in proportion to the mesh and never to the tensor.
//
// A Layout is an immutable value behind a shared pointer: copies are cheap, and the tensors of a large mix share
// the layouts of equal geometry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/layout/mesh.h"
#include "core/layout/placement.h"
#include "core/layout/result.h"

namespace reshardcheck {

/// Extents of a tensor, slowest first. Empty for a 0-d tensor, which has one element.
using Shape = std::vector<std::int64_t>;

/// The number of elements, or an error when the product of the non-zero extents does not fit 64 bits, an extent
/// is negative, or there are too many dims.
Result<std::int64_t> checked_elements(std::span<const std::int64_t> shape);

/// The number of elements of a shape that checked_elements() accepts.
std::int64_t elements(std::span<const std::int64_t> shape);

class Layout {
 public:
  /// Errors carry in `position` the index of the placement at fault, where one is. Members of a placement that its
  /// kind and rule do not use are cleared.
  static Result<Layout> make(Shape shape, Mesh mesh, std::vector<Placement> placements);

  [[nodiscard]] const Shape& shape() const { return data_->shape; }
  [[nodiscard]] const Mesh& mesh() const { return data_->mesh; }
  [[nodiscard]] std::span<const Placement> placements() const { return data_->placements; }
  [[nodiscard]] std::size_t dims() const { return data_->shape.size(); }

  /// The pieces into which a dim is dealt; one entry, the whole dim, when no axis shards it.
  [[nodiscard]] std::span<const DimPiece> pieces(std::size_t dim) const { return data_->tables[dim].pieces; }

  /// Which of pieces(dim) the rank at a mesh index holds.
  [[nodiscard]] std::size_t piece_index(std::size_t mesh_index, std::size_t dim) const;
  [[nodiscard]] const DimPiece& piece(std::size_t mesh_index, std::size_t dim) const {
    return data_->tables[dim].pieces[piece_index(mesh_index, dim)];
  }

  /// Distinct shards are numbered row-major over the piece indices of the dims.
  [[nodiscard]] std::size_t shards() const { return data_->shards; }
  [[nodiscard]] std::size_t shard_of(std::size_t mesh_index) const { return data_->shard_of[mesh_index]; }

  /// The piece index of `dim` within a shard number.
  [[nodiscard]] std::size_t shard_piece_index(std::size_t shard, std::size_t dim) const {
    return shard / data_->tables[dim].shard_stride % data_->tables[dim].pieces.size();
  }
  [[nodiscard]] const DimPiece& shard_piece(std::size_t shard, std::size_t dim) const {
    return data_->tables[dim].pieces[shard_piece_index(shard, dim)];
  }

  /// The ranks of the replica group that holds a shard, in mesh order. All groups have the same size.
  [[nodiscard]] std::span<const Rank> replicas(std::size_t shard) const {
    return std::span<const Rank>(data_->replicas).subspan(shard * replica_count(), replica_count());
  }
  [[nodiscard]] std::size_t replica_count() const { return data_->mesh.size() / data_->shards; }

  /// The shape of the local tensor of a mesh index (padded under the padded rules).
  [[nodiscard]] Shape local_shape(std::size_t mesh_index) const;
  /// Elements of the local tensor, padding included, and real elements only.
  [[nodiscard]] std::int64_t local_elements(std::size_t mesh_index) const;
  [[nodiscard]] std::int64_t owned_elements(std::size_t mesh_index) const;

  /// "2x2@0 S(0),R": the mesh and the placements, without the shape.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Layout& a, const Layout& b);

 private:
  struct DimTable {
    std::vector<DimPiece> pieces;
    std::vector<std::size_t> axes;  // the axes that shard this dim, left to right
    std::size_t shard_stride = 1;   // what one step of this dim's piece index adds to a shard number
  };
  struct Data {
    Shape shape;
    Mesh mesh;
    std::vector<Placement> placements;
    std::vector<DimTable> tables;
    std::vector<std::uint32_t> shard_of;  // by mesh index
    std::vector<Rank> replicas;           // by shard, then in mesh order
    std::size_t shards = 1;
  };

  explicit Layout(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  static Status check_placements(const Data& data);
  static Status fill_table(Data& data, std::size_t dim);
  static Status check_local_sizes(const Data& data);
  static void number_shards(Data& data);

  std::shared_ptr<const Data> data_;
};

}  // namespace reshardcheck
