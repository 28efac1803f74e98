// The C interface of fingerprint.h over the C++ one. It checks what a caller in another language can get wrong; no
// exception leaves it.
#include "verifier/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "verifier/fingerprint_side.h"
#include "verifier/fingerprint_stream.h"
#include "verifier/fingerprint_tensor.h"

/// What the opaque pointer of the C interface points at.
struct reshardcheck_fingerprint_key {
  reshardcheck::FingerprintKey key;
};

namespace reshardcheck {
namespace {

constexpr std::uint64_t max_offset_bytes = std::uint64_t{1} << 63;

using CState = reshardcheck_fingerprint_state;
using CError = reshardcheck_fingerprint_error;

void add_to(CState& state, const FingerprintState& more) {
  FingerprintState sum{{state.lane[0], state.lane[1]}};
  merge(sum, more);
  std::copy_n(sum.lane, 2, state.lane);
}

Status check_state(const CState* state) {
  if (state == nullptr) return Error{"the state is a null pointer"};
  for (const std::uint64_t lane : state->lane) {
    if (lane >= fingerprint_prime) return Error{"the state is not one: its lanes are residues modulo 2^61 - 1"};
  }
  return Ok{};
}

Result<Shape> read_shape(const std::int64_t* shape, std::size_t dims) {
  if (dims > fingerprint_max_dims) return Error{fmt::format("{} dims", dims)};
  if (shape == nullptr && dims > 0) return Error{"the shape is a null pointer"};
  Shape result(shape, shape + dims);
  for (const std::int64_t extent : result) {
    if (extent < 0) return Error{fmt::format("a dim of extent {}", extent)};
  }
  return result;
}

Status check_dtype_name(const char* dtype) {
  if (dtype == nullptr) return Error{"the dtype is a null pointer"};
  const std::size_t length = strnlen(dtype, fingerprint_max_dtype_bytes + 1);
  if (length == 0 || length > fingerprint_max_dtype_bytes) return Error{"a dtype's name has 1 to 15 bytes"};
  return Ok{};
}

Status check_bytes(const Shape& shape, DType dtype) {
  std::int64_t bytes = width_bytes(dtype);
  for (const std::int64_t extent : shape) {
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      return Error{"the tensor has more than 2^63 bytes"};
  }
  return Ok{};
}

/// A shard of the C interface, read and checked.
struct CheckedShard {
  Layout layout;
  DType dtype;
  std::optional<std::size_t> mesh_index;  // none: the rank is outside the mesh
  FingerprintOptions options;
};

Result<CheckedShard> check_shard(const reshardcheck_fingerprint_shard& shard) {
  const Status named = check_dtype_name(shard.dtype);
  if (!named) return named.error();
  const std::optional<DType> dtype = parse_dtype(shard.dtype);
  if (!dtype) return Error{fmt::format("unknown dtype '{}'", shard.dtype)};
  const Result<Shape> shape = read_shape(shard.shape, shard.dims);
  if (!shape) return shape.error();
  const Status fits = check_bytes(*shape, *dtype);
  if (!fits) return fits.error();
  const std::string whole = fmt::format("1@{} R", std::max(shard.rank, 0));
  const Result<Layout> layout = parse_side(*shape, shard.layout == nullptr ? whole : shard.layout);
  if (!layout)
    return Error{fmt::format("layout '{}': {}", shard.layout == nullptr ? whole : shard.layout, layout.error().reason)};

  CheckedShard result{*layout, *dtype, layout->mesh().index_of(shard.rank), {}};
  result.options.threads = shard.threads;
  if (shard.begin_element != 0 || shard.end_element != 0) {
    if (shard.begin_element < 0 || shard.end_element < shard.begin_element)
      return Error{"the range of elements is none"};
    const std::int64_t count = elements(*shape);
    result.options.elements = Interval{std::min(shard.begin_element, count), std::min(shard.end_element, count)};
  }
  if (result.mesh_index && shard.data == nullptr && layout->owned_elements(*result.mesh_index) > 0) {
    return Error{"the rank holds elements, but its data is a null pointer"};
  }
  return result;
}

Status add_shard(const FingerprintKey& key, CState& state, const reshardcheck_fingerprint_shard& shard,
                 reshardcheck_fingerprint_role* role) {
  const Result<CheckedShard> checked = check_shard(shard);
  if (!checked) return checked.error();
  if (role != nullptr) *role = {-1, 0};
  if (!checked->mesh_index) return Ok{};
  const Layout& layout = checked->layout;
  const std::size_t replica = replica_place(layout, *checked->mesh_index);
  if (role != nullptr) {
    *role = {static_cast<std::int64_t>(layout.shard_of(*checked->mesh_index)), static_cast<std::int32_t>(replica)};
  } else if (replica != 0) {
    return Ok{};
  }
  ShardView view{&layout, *checked->mesh_index, checked->dtype, static_cast<const std::byte*>(shard.data), {}};
  if (shard.strides_elements != nullptr) view.strides = {shard.strides_elements, shard.dims};
  add_to(state, fingerprint_of_shard(key, view, checked->options));
  return Ok{};
}

Status add_bytes(const FingerprintKey& key, CState& state, const FingerprintRuns& run) {
  if (run.data == nullptr && run.bytes > 0) return Error{"the data is a null pointer"};
  if (run.offset_bytes > max_offset_bytes || run.bytes > max_offset_bytes - run.offset_bytes) {
    return Error{"the bytes reach beyond offset 2^63"};
  }
  FingerprintStream stream(key);
  stream.add(run.offset_bytes, run.data, run.bytes);
  add_to(state, stream.finish());
  return Ok{};
}

Status digest(const FingerprintKey& key, const CState& state, const char* dtype, const Result<Shape>& shape,
              char* hex) {
  const Status named = check_dtype_name(dtype);
  if (!named) return named.error();
  if (!shape) return shape.error();
  if (hex == nullptr) return Error{"the place for the digest is a null pointer"};
  const std::string text = fingerprint_digest(key, {{state.lane[0], state.lane[1]}}, dtype, *shape);
  std::memcpy(hex, text.c_str(), text.size() + 1);
  return Ok{};
}

int report(std::string_view reason, CError* error) {
  if (error != nullptr) {
    const std::size_t length = std::min(reason.size(), sizeof(error->reason) - 1);
    std::memcpy(error->reason, reason.data(), length);
    error->reason[length] = '\0';
  }
  return -1;
}

/// Runs what a call is about and turns every way to fail into a return code.
template <typename Call>
int guarded(const reshardcheck_fingerprint_key* key, const CState* state, CError* error, const Call& call) noexcept {
  try {
    if (key == nullptr) return report("the key is a null pointer", error);
    const Status usable = check_state(state);
    if (!usable) return report(usable.error().reason, error);
    const Status done = call();
    return done ? 0 : report(done.error().reason, error);
  } catch (const std::bad_alloc&) {
    return report("out of memory", error);
  } catch (const std::exception& problem) {
    return report(problem.what(), error);
  }
}

}  // namespace
}  // namespace reshardcheck

extern "C" {

reshardcheck_fingerprint_key* reshardcheck_fingerprint_key_new(const uint8_t key[16]) {
  reshardcheck::FingerprintKeyBytes bytes;
  std::copy_n(key, bytes.size(), bytes.begin());
  try {
    return new reshardcheck_fingerprint_key{reshardcheck::FingerprintKey(bytes)};
  } catch (const std::exception&) {
    return nullptr;
  }
}

void reshardcheck_fingerprint_key_free(reshardcheck_fingerprint_key* key) { delete key; }

int reshardcheck_fingerprint_add_bytes(const reshardcheck_fingerprint_key* key, reshardcheck_fingerprint_state* state,
                                       uint64_t offset_bytes, const void* data, size_t bytes,
                                       reshardcheck_fingerprint_error* error) {
  return reshardcheck::guarded(key, state, error, [&] {
    return reshardcheck::add_bytes(key->key, *state,
                                   {offset_bytes, 0, static_cast<const std::byte*>(data), 0, bytes, 1, 0});
  });
}

int reshardcheck_fingerprint_add_shard(const reshardcheck_fingerprint_key* key, reshardcheck_fingerprint_state* state,
                                       const reshardcheck_fingerprint_shard* shard, reshardcheck_fingerprint_role* role,
                                       reshardcheck_fingerprint_error* error) {
  return reshardcheck::guarded(key, state, error, [&]() -> reshardcheck::Status {
    if (shard == nullptr) return reshardcheck::Error{"the shard is a null pointer"};
    return reshardcheck::add_shard(key->key, *state, *shard, role);
  });
}

void reshardcheck_fingerprint_merge(reshardcheck_fingerprint_state* into, const reshardcheck_fingerprint_state* other) {
  reshardcheck::add_to(*into, {{other->lane[0], other->lane[1]}});
}

int reshardcheck_fingerprint_digest(const reshardcheck_fingerprint_key* key,
                                    const reshardcheck_fingerprint_state* state, const char* dtype, size_t dims,
                                    const int64_t* shape, char hex[33], reshardcheck_fingerprint_error* error) {
  return reshardcheck::guarded(key, state, error, [&] {
    return reshardcheck::digest(key->key, *state, dtype, reshardcheck::read_shape(shape, dims), hex);
  });
}

}  // extern "C"
