// Sizes are computed with checked arithmetic once per shard, for the estimate before anything is allocated, and again
// per rank when the blocks are laid out.
#include "verifier/local_buffers.h"

#include <algorithm>

namespace reshardcheck {
namespace {

constexpr const char* too_many_bytes = "the local tensors of all ranks together overflow 64 bits";

/// Elements from the first to the last local element; rows of tensors of two or more dims lie `gap` apart.
bool checked_footprint(std::span<const std::int64_t> shape, std::int64_t gap, std::int64_t& footprint) {
  footprint = 1;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    footprint = 0;
    return true;
  }
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const bool row = shape.size() > 1 && dim + 1 == shape.size();
    std::int64_t extent = shape[dim];
    if (row && __builtin_add_overflow(extent, gap, &extent)) return false;
    if (__builtin_mul_overflow(footprint, extent, &footprint)) return false;
  }
  if (shape.size() > 1) footprint -= gap;
  return true;
}

/// Bytes of the block around a footprint.
bool checked_block_bytes(std::int64_t footprint, int width, std::int64_t& bytes) {
  if (__builtin_mul_overflow(footprint, std::int64_t{width}, &bytes)) return false;
  return !__builtin_add_overflow(bytes, 3 * guard_bytes - 1, &bytes) && ((bytes -= bytes % guard_bytes), true);
}

/// Adds the blocks of one side of a tensor: one computation per shard, times its replicas.
bool add_side_bytes(const Layout& layout, int width, std::int64_t gap, std::int64_t& total) {
  Shape shape(layout.dims());
  for (std::size_t shard = 0; shard < layout.shards(); ++shard) {
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) shape[dim] = layout.shard_piece(shard, dim).local_extent;
    std::int64_t footprint = 0;
    std::int64_t bytes = 0;
    if (!checked_footprint(shape, gap, footprint) || !checked_block_bytes(footprint, width, bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::int64_t>(layout.replica_count()), &bytes) ||
        __builtin_add_overflow(total, bytes, &total)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<std::int64_t> LocalBuffers::bytes_of_all_ranks(const Case& value) {
  std::int64_t total = 0;
  for (const TensorCase& tensor : value.tensors) {
    const int width = width_bytes(tensor.dtype);
    for (const Layout* layout : {&tensor.source, &tensor.target}) {
      if (!add_side_bytes(*layout, width, value.options.gap_elements, total)) return Error{too_many_bytes};
    }
  }
  return total;
}

void LocalBuffers::assign(const Case& value, Rank rank) {
  tensor_count_ = value.tensors.size();
  if (tensors_.size() < tensor_count_) tensors_.resize(tensor_count_);
  blocks_.clear();
  bytes_ = 0;
  for (std::size_t i = 0; i < tensor_count_; ++i) {
    const TensorCase& spec = value.tensors[i];
    tensors_[i].spec = &spec;
    for (const Side side : {Side::source, Side::target}) {
      const Layout& layout = side == Side::source ? spec.source : spec.target;
      LocalTensor& local = side == Side::source ? tensors_[i].source : tensors_[i].target;
      local.data = nullptr;
      local.shape.clear();
      local.strides.clear();
      local.mesh_index = layout.mesh().index_of(rank).value_or(LocalTensor::npos);
      if (local.present()) add_block(layout, local, {i, side, nullptr, 0, 0}, value.options.gap_elements);
    }
  }
}

void LocalBuffers::add_block(const Layout& layout, LocalTensor& local, const LocalBlock& block,
                             std::int64_t gap_elements) {
  const std::size_t dims = layout.dims();
  for (std::size_t dim = 0; dim < dims; ++dim) local.shape.push_back(layout.piece(local.mesh_index, dim).local_extent);
  local.strides.resize(dims);
  LocalBlock laid_out = block;
  RESHARDCHECK_CHECK(checked_footprint(local.shape, gap_elements, laid_out.footprint_elements));
  std::int64_t stride = 1;
  for (std::size_t dim = dims; dim-- > 0;) {
    local.strides[dim] = stride;
    // Strides of an empty tensor address nothing: those of the tensor without its empty dims, 0 where they overflow.
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(local.shape[dim], 1), &stride)) stride = 0;
    if (dim + 1 == dims && dims > 1) stride += gap_elements;
  }
  const int width = width_bytes(tensors_[block.tensor].spec->dtype);
  RESHARDCHECK_CHECK(checked_block_bytes(laid_out.footprint_elements, width, laid_out.block_bytes));
  blocks_.push_back(laid_out);
  bytes_ += laid_out.block_bytes;
}

void LocalBuffers::place(std::byte* memory) {
  for (LocalBlock& block : blocks_) {
    block.block = memory;
    memory += block.block_bytes;
    BatchTensor& tensor = tensors_[block.tensor];
    (block.side == Side::source ? tensor.source : tensor.target).data = block.data();
  }
}

Shape local_index_of(const LocalTensor& local, std::int64_t offset) {
  Shape index(local.shape.size());
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    index[dim] = local.strides[dim] == 0 ? 0 : offset / local.strides[dim];
    offset -= index[dim] * local.strides[dim];
  }
  return index;
}

Shape global_index_of(std::span<const std::int64_t> shape, std::int64_t index) {
  Shape result(shape.size());
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    result[dim] = shape[dim] == 0 ? 0 : index % shape[dim];
    index = shape[dim] == 0 ? 0 : index / shape[dim];
  }
  return result;
}

}  // namespace reshardcheck
