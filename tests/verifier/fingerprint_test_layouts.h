// Tensors, layouts and dealt-out shards for the tests of the fingerprint.
//
// Goal: any pair of layouts of one tensor, over every split rule. Method: layouts are drawn from RapidCheck choices,
// shards are dealt element by element from the global tensor, sharing no code with the walk under test.
#pragma once

#include <rapidcheck.h>

#include <cstring>
#include <vector>

#include "core/layout/layout.h"
#include "verifier/fingerprint_tensor.h"

namespace reshardcheck::fingerprint_tests {

inline const FingerprintKeyBytes test_key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

using Bytes = std::vector<std::byte>;

/// One rank's local tensor: memory, strides, and where the element with local index 0 lies.
struct LocalShard {
  Bytes memory;
  std::vector<std::int64_t> strides;
};

inline Bytes random_bytes(std::int64_t count, std::uint64_t seed) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(seed >> 56);
  }
  return bytes;
}

inline Bytes random_tensor(const Shape& shape, DType dtype, std::uint64_t seed) {
  return random_bytes(elements(shape) * width_bytes(dtype), seed);
}

/// The shard of a mesh index with `gap` unused elements after each row, padding and gaps filled with rubbish.
inline LocalShard deal(const Bytes& tensor, const Layout& layout, std::size_t mesh_index, DType dtype,
                       std::int64_t gap = 0) {
  const auto width = static_cast<std::size_t>(width_bytes(dtype));
  const Shape local = layout.local_shape(mesh_index);
  LocalShard shard;
  shard.strides.resize(local.size());
  std::int64_t stride = 1;
  for (std::size_t dim = local.size(); dim-- > 0;) {
    shard.strides[dim] = stride;
    stride = stride * local[dim] + (dim + 1 == local.size() ? gap : 0);
  }
  shard.memory.assign(static_cast<std::size_t>(std::max<std::int64_t>(stride, 1)) * width, std::byte{0xA5});
  const std::int64_t count = elements(layout.shape());
  for (std::int64_t element = 0; element < count; ++element) {
    std::int64_t rest = element;
    std::int64_t offset = 0;
    bool mine = true;
    for (std::size_t dim = layout.dims(); dim-- > 0;) {
      const auto place = layout.piece(mesh_index, dim).owned.find(rest % layout.shape()[dim]);
      rest /= layout.shape()[dim];
      mine = mine && place.has_value();
      if (mine) offset += *place * shard.strides[dim];
    }
    if (mine) {
      std::memcpy(shard.memory.data() + static_cast<std::size_t>(offset) * width,
                  tensor.data() + static_cast<std::size_t>(element) * width, width);
    }
  }
  return shard;
}

/// The sum over all ranks that count, as a world would compute it.
inline FingerprintState state_under(const FingerprintKey& key, const Bytes& tensor, const Layout& layout, DType dtype,
                                    std::int64_t gap = 0) {
  FingerprintState total;
  for (std::size_t i = 0; i < layout.mesh().size(); ++i) {
    if (replica_place(layout, i) != 0) continue;
    const LocalShard shard = deal(tensor, layout, i, dtype, gap);
    merge(total, fingerprint_of_shard(key, {&layout, i, dtype, shard.memory.data(), shard.strides}));
  }
  return total;
}

/// A number in [low, high].
inline std::int64_t draw(std::int64_t low, std::int64_t high) { return *rc::gen::inRange<std::int64_t>(low, high + 1); }

/// Sizes that sum to `total`.
inline std::vector<std::int64_t> draw_sizes(std::int64_t total, std::int64_t count) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    sizes.push_back(draw(0, total));
    total -= sizes.back();
  }
  sizes.push_back(total);
  return sizes;
}

inline Placement draw_placement(const Shape& shape, std::int64_t parts) {
  const int dim = static_cast<int>(draw(-1, std::ssize(shape) - 1));
  if (dim < 0) return Placement::replicate();
  const std::int64_t extent = shape[static_cast<std::size_t>(dim)];
  switch (*rc::gen::elementOf(std::vector<SplitRule>(std::begin(all_rules), std::end(all_rules)))) {
    case SplitRule::chunk:
      return Placement::shard(dim);
    case SplitRule::balanced:
      return Placement::shard(dim, SplitRule::balanced);
    case SplitRule::even:
      return Placement::shard(dim, extent % parts == 0 ? SplitRule::even : SplitRule::chunk);
    case SplitRule::padded:
      return Placement::padded(dim, draw(1, 4));
    case SplitRule::cuts:
      return Placement::cuts(dim, draw_sizes(extent, parts));
    case SplitRule::segments:
      return Placement::segments(dim, draw_sizes(extent, draw(1, 3)));
    case SplitRule::strided:
      return Placement::strided(dim, draw(1, 3));
  }
  return Placement::replicate();
}

/// A layout of the shape; combinations that rules forbid fall back to replication of the last axis, and so on.
inline Layout draw_layout(const Shape& shape) {
  const std::int64_t axes = draw(1, 3);
  std::vector<std::int64_t> extents;
  std::vector<Placement> placements;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    extents.push_back(draw(1, 3));
    placements.push_back(draw_placement(shape, extents.back()));
  }
  const Mesh mesh = *Mesh::consecutive(extents, draw(0, 2));
  for (std::size_t axis = placements.size();; --axis) {
    const Result<Layout> layout = Layout::make(shape, mesh, placements);
    if (layout) return *layout;
    placements.at(axis - 1) = Placement::replicate();
  }
}

inline Shape draw_shape() {
  Shape shape;
  for (std::int64_t dims = draw(0, 4); dims > 0; --dims) shape.push_back(draw(dims == 1 ? 0 : 1, 7));
  return shape;
}

inline DType draw_dtype() { return *rc::gen::elementOf(std::vector<DType>(all_dtypes.begin(), all_dtypes.end())); }

inline Layout whole(const Shape& shape) {
  return *Layout::make(shape, *Mesh::consecutive({1}, 0), {Placement::replicate()});
}

}  // namespace reshardcheck::fingerprint_tests
