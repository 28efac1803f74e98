// LocalBuffers: the local tensors of one rank, both sides, laid out in memory that the caller owns.
//
// Each local tensor lies in a block of its own: a guard band, the tensor (rows apart by the case's gap), and another
// guard band. Data starts at a multiple of 64 bytes of the memory given; guard bands are at least 64 bytes, so an
// overrun of one tensor does not reach the next. What a subject sees of it is the BatchTensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/case.h"
#include "core/subject/subject.h"

namespace reshardcheck {

inline constexpr std::int64_t guard_bytes = 64;

enum class Side : std::uint8_t { source, target };

/// One local tensor in its block.
struct LocalBlock {
  std::size_t tensor = 0;
  Side side = Side::source;
  std::byte* block = nullptr;           // the front guard band
  std::int64_t block_bytes = 0;         // both guard bands included
  std::int64_t footprint_elements = 0;  // from local index 0 to the last local element, gaps and padding included

  [[nodiscard]] std::byte* data() const { return block + guard_bytes; }
};

class LocalBuffers {
 public:
  /// Bytes of memory that the local tensors of all ranks take, or an Error when they do not fit 64 bits.
  static Result<std::int64_t> bytes_of_all_ranks(const Case& value);

  /// Lays out the local tensors of a rank. `memory` is aligned to 64 bytes and has at least bytes(); the case must
  /// outlive the use. Nothing is written.
  void assign(const Case& value, Rank rank);
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  void place(std::byte* memory);

  [[nodiscard]] std::span<const BatchTensor> tensors() const { return std::span(tensors_).first(tensor_count_); }
  [[nodiscard]] std::span<const LocalBlock> blocks() const { return blocks_; }
  [[nodiscard]] const LocalTensor& local(const LocalBlock& block) const {
    const BatchTensor& tensor = tensors_[block.tensor];
    return block.side == Side::source ? tensor.source : tensor.target;
  }

 private:
  void add_block(const Layout& layout, LocalTensor& local, const LocalBlock& block, std::int64_t gap_elements);

  std::vector<BatchTensor> tensors_;  // keeps those of larger cases for their memory
  std::size_t tensor_count_ = 0;
  std::vector<LocalBlock> blocks_;  // source before target, tensor by tensor
  std::int64_t bytes_ = 0;
};

/// The local index of an element of a local tensor, from its offset in elements.
Shape local_index_of(const LocalTensor& local, std::int64_t offset);

/// The global index of an element, from its row-major number.
Shape global_index_of(std::span<const std::int64_t> shape, std::int64_t index);

}  // namespace reshardcheck
