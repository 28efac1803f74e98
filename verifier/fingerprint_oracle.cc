#include "verifier/fingerprint_oracle.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

namespace reshardcheck {
namespace {

/// The sum over the ranks of a layout that count, or the sentence that says which replica is not like its group's
/// first.
Result<FingerprintState> whole_state(const Layout& layout, std::string_view side,
                                     std::span<const FingerprintState> by_mesh_index) {
  FingerprintState total;
  for (std::size_t index = 0; index < by_mesh_index.size(); ++index) {
    const std::size_t shard = layout.shard_of(index);
    const Rank first = layout.replicas(shard).front();
    const Rank rank = layout.mesh().ranks()[index];
    if (rank == first) {
      merge(total, by_mesh_index[index]);
    } else if (!(by_mesh_index[index] == by_mesh_index[*layout.mesh().index_of(first)])) {
      return Error{fmt::format("{} rank {} and rank {} hold different bits of the same shard", side, rank, first)};
    }
  }
  return total;
}

std::vector<FingerprintState> states_of(const Layout& layout, std::size_t tensor, FingerprintState TensorStates::*side,
                                        std::span<const std::vector<TensorStates>> ranks) {
  std::vector<FingerprintState> states;
  for (const Rank rank : layout.mesh().ranks()) states.push_back(ranks[static_cast<std::size_t>(rank)][tensor].*side);
  return states;
}

}  // namespace

FingerprintState fingerprint_of_local(const FingerprintKey& key, const Layout& layout, DType dtype,
                                      const LocalTensor& local) {
  if (!local.present()) return {};
  return fingerprint_of_shard(key, {&layout, local.mesh_index, dtype, local.data, local.strides});
}

std::vector<TensorStates> fingerprint_rank(const FingerprintKey& key, std::span<const BatchTensor> tensors) {
  std::vector<TensorStates> states;
  states.reserve(tensors.size());
  for (const BatchTensor& tensor : tensors) {
    const TensorCase& spec = *tensor.spec;
    states.push_back({fingerprint_of_local(key, spec.source, spec.dtype, tensor.source),
                      fingerprint_of_local(key, spec.target, spec.dtype, tensor.target)});
  }
  return states;
}

std::string pack_states(std::span<const TensorStates> states) {
  static_assert(std::is_trivially_copyable_v<TensorStates>);
  std::string bytes(states.size_bytes(), '\0');
  if (!states.empty()) std::memcpy(bytes.data(), states.data(), bytes.size());
  return bytes;
}

std::vector<TensorStates> unpack_states(std::string_view bytes) {
  std::vector<TensorStates> states(bytes.size() / sizeof(TensorStates));
  if (!states.empty()) std::memcpy(states.data(), bytes.data(), states.size() * sizeof(TensorStates));
  return states;
}

std::optional<FingerprintFinding> judge_fingerprints(const FingerprintKey& key, const Case& value,
                                                     std::span<const std::vector<TensorStates>> ranks) {
  for (std::size_t i = 0; i < value.tensors.size(); ++i) {
    const TensorCase& tensor = value.tensors[i];
    const auto sources = states_of(tensor.source, i, &TensorStates::source, ranks);
    const auto targets = states_of(tensor.target, i, &TensorStates::target, ranks);
    const Result<FingerprintState> source = whole_state(tensor.source, "source", sources);
    if (!source) return FingerprintFinding{i, source.error().reason};
    const Result<FingerprintState> target = whole_state(tensor.target, "target", targets);
    if (!target) return FingerprintFinding{i, target.error().reason};
    if (*source == *target) continue;
    const std::string_view dtype = name(tensor.dtype);
    return FingerprintFinding{
        i, fmt::format("the targets hold {}, the sources {}", fingerprint_digest(key, *target, dtype, tensor.shape()),
                       fingerprint_digest(key, *source, dtype, tensor.shape()))};
  }
  return std::nullopt;
}

}  // namespace reshardcheck
