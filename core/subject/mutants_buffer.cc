// Mutants that move the right elements and mistreat memory or values on the way.
#include <cstring>

#include "core/subject/local_memory.h"
#include "core/subject/mutant.h"

namespace reshardcheck {
namespace {

/// Inverts one element's bits, `offset_bytes` from the first element of a local tensor.
void invert(const LocalTensor& tensor, DType dtype, std::int64_t offset_bytes) {
  for (int i = 0; i < width_bytes(dtype); ++i) tensor.data[offset_bytes + i] = ~tensor.data[offset_bytes + i];
}

/// A deviation that ends each call by inverting, for every tensor of which the rank holds elements, an element
/// beside its target.
Deviation writing_beside(bool behind) {
  Deviation deviation;
  deviation.after = [behind](const CallContext& call) {
    for (const BatchTensor& tensor : call.tensors) {
      const std::int64_t bytes = span_bytes(tensor.target, tensor.spec->dtype);
      if (bytes > 0) invert(tensor.target, tensor.spec->dtype, behind ? bytes : -width_bytes(tensor.spec->dtype));
    }
  };
  return deviation;
}

Deviation scribble_source(const MutantOptions&) {
  Deviation deviation;
  deviation.after = [](const CallContext& call) {
    for (const BatchTensor& tensor : call.tensors) flip_first_element(tensor.source, tensor.spec->source);
  };
  return deviation;
}

/// A deviation that sends every element written to a target through `convert`, as an integer of its width. A
/// conversion returns the bits it is given where it has nothing to do.
Deviation converting(std::function<std::uint64_t(std::uint64_t bits, const TensorCase&)> convert) {
  Deviation deviation;
  deviation.engine.written = [convert = std::move(convert)](const BatchTensor& tensor, std::byte* data,
                                                            std::int64_t elements) {
    const auto width = static_cast<std::size_t>(width_bytes(tensor.spec->dtype));
    for (std::int64_t i = 0; i < elements; ++i, data += width) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, data, width);
      bits = convert(bits, *tensor.spec);
      std::memcpy(data, &bits, width);
    }
  };
  return deviation;
}

/// Where the exponent of a floating-point dtype is; no bits for the others.
struct FloatBits {
  std::uint64_t sign = 0;
  std::uint64_t exponent = 0;
  std::uint64_t mantissa = 0;
};

FloatBits float_bits(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {0x8000, 0x7c00, 0x03ff};
    case DType::bf16:
      return {0x8000, 0x7f80, 0x007f};
    case DType::f32:
      return {0x8000'0000, 0x7f80'0000, 0x007f'ffff};
    case DType::f64:
      return {0x8000'0000'0000'0000, 0x7ff0'0000'0000'0000, 0x000f'ffff'ffff'ffff};
    default:
      return {};
  }
}

std::uint64_t canonical_nan(std::uint64_t bits, const TensorCase& tensor) {
  if (tensor.dtype != DType::bf16) return bits;
  const FloatBits parts = float_bits(DType::bf16);
  const bool is_nan = (bits & parts.exponent) == parts.exponent && (bits & parts.mantissa) != 0;
  return is_nan ? 0x7fc0 : bits;
}

std::uint64_t through_bf16(std::uint64_t bits, const TensorCase& tensor) {
  if (tensor.dtype != DType::f32) return bits;
  const FloatBits parts = float_bits(DType::f32);
  const bool is_nan = (bits & parts.exponent) == parts.exponent && (bits & parts.mantissa) != 0;
  const std::uint64_t rounded = is_nan ? bits | 0x0040'0000 : bits + 0x7fff + ((bits >> 16) & 1);  // to nearest even
  return rounded & 0xffff'0000;
}

std::uint64_t flush_denormal(std::uint64_t bits, const TensorCase& tensor) {
  const FloatBits parts = float_bits(tensor.dtype);
  return parts.exponent != 0 && (bits & parts.exponent) == 0 ? bits & parts.sign : bits;
}

std::uint64_t sum_of_replicas(std::uint64_t bits, const TensorCase& tensor) {
  return bits * tensor.source.replica_count();
}

/// Works in one buffer: the source of a rank that is also a target is overwritten as its target is written, and its
/// own copies come before its sends.
Deviation in_place_hazard(const MutantOptions&) {
  Deviation deviation;
  deviation.see = [](std::vector<BatchTensor>& tensors, RankMemory& memory) {
    if (memory.scratch.size() < tensors.size()) memory.scratch.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      LocalTensor& source = tensors[i].source;
      const std::int64_t bytes = span_bytes(source, tensors[i].spec->dtype);
      if (bytes == 0 || !tensors[i].target.present()) continue;
      memory.scratch[i].assign(source.data, source.data + bytes);
      source.data = memory.scratch[i].data();
    }
  };
  deviation.engine.copies_first = true;
  deviation.engine.written = [](const BatchTensor& tensor, const std::byte* data, std::int64_t elements) {
    if (!tensor.source.present()) return;
    const std::int64_t offset = data - tensor.target.data;
    const std::int64_t room = span_bytes(tensor.source, tensor.spec->dtype) - offset;
    const std::int64_t bytes = std::min(room, elements * width_bytes(tensor.spec->dtype));
    if (bytes > 0) std::memcpy(tensor.source.data + offset, data, static_cast<std::size_t>(bytes));
  };
  return deviation;
}

template <auto Convert>
Deviation converter(const MutantOptions&) {
  return converting(Convert);
}

}  // namespace

std::vector<Mutant> buffer_mutants() {
  return {
      {"overrun", "writes past the end of the target", "guard", "class",
       [](const MutantOptions&) { return writing_beside(true); }},
      {"underrun", "writes before the start of the target", "guard", "class",
       [](const MutantOptions&) { return writing_beside(false); }},
      {"scribble-source", "source modified", "source_modified", "class", scribble_source},
      {"nan-canonical", "bf16 goes through float: NaN payloads change", "mismatch", "class", converter<canonical_nan>},
      {"cast-bf16", "f32 delivered through bf16", "mismatch", "NeMo RL#3540, sglang#17009", converter<through_bf16>},
      {"flush-denormal", "denormals flushed to zero", "mismatch", "class", converter<flush_denormal>},
      {"replica-sum", "replicas are summed", "mismatch", "jax#22387, jax#24576", converter<sum_of_replicas>},
      {"in-place-hazard", "overlapping source and target ranks: reads after its own write", "mismatch", "class",
       in_place_hazard},
  };
}

}  // namespace reshardcheck
