// Fingerprints of tensors under a layout: the states of shards, whose sum over a layout's distinct shards is the
// state of the tensor, whatever the layout.
//
// Padding is never read. A range of global elements, in row-major order, restricts a state to it: threads share a
// shard that way and localisation (fingerprint_localise.h) narrows a difference down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/layout/dtype.h"
#include "core/layout/layout.h"
#include "verifier/fingerprint_key.h"

namespace reshardcheck {

/// What a rank holds of a tensor. Refers to the layout and the memory; owns nothing.
struct ShardView {
  const Layout* layout = nullptr;
  std::size_t mesh_index = 0;
  DType dtype = DType::u8;
  const std::byte* data = nullptr;        // the element with local index 0; may be null for an empty shard
  std::span<const std::int64_t> strides;  // elements, one per dim; empty: the local tensor is dense
};

struct FingerprintOptions {
  std::optional<Interval> elements;  // only these global elements
  int threads = 1;                   // at most; small shards use fewer
};

/// The state of a shard. The tensor's bytes must number less than 2^63.
FingerprintState fingerprint_of_shard(const FingerprintKey& key, const ShardView& shard,
                                      const FingerprintOptions& options = {});

/// The place of a mesh index in its replica group, in mesh order. Shards at place 0 count; their states add up to
/// the tensor's.
std::size_t replica_place(const Layout& layout, std::size_t mesh_index);

/// The contribution of dtype and shape. A dtype is known by its name.
FingerprintState fingerprint_of_header(const FingerprintKey& key, std::string_view dtype,
                                       std::span<const std::int64_t> shape);

/// 32 hexadecimal digits: the tensor's state and its header's, lane 0 first.
std::string fingerprint_digest(const FingerprintKey& key, const FingerprintState& state, std::string_view dtype,
                               std::span<const std::int64_t> shape);

/// Names and dims beyond these do not fit a header.
inline constexpr std::size_t fingerprint_max_dtype_bytes = 15;
inline constexpr std::size_t fingerprint_max_dims = 64;

}  // namespace reshardcheck
