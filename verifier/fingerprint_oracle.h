// The fingerprint oracle: did the targets get the sources' bits? It asks nothing else, and needs no expected values.
//
// Every rank computes 32 bytes a tensor from its local tensors, whatever their size; these are all that has to travel.
// The sources' states add up to the tensor, so must the targets', and every replica must have the state of its group.
// At sizes where no full compare fits this is the one oracle that still does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/subject/subject.h"
#include "verifier/fingerprint_tensor.h"

namespace reshardcheck {

/// The state of a rank's local tensor; neutral when it has none.
FingerprintState fingerprint_of_local(const FingerprintKey& key, const Layout& layout, DType dtype,
                                      const LocalTensor& local);

/// What a rank holds of one tensor before and after the reshard.
struct TensorStates {
  FingerprintState source;
  FingerprintState target;
};

/// The states of a rank, tensor by tensor. Take it after a call, before sources change.
std::vector<TensorStates> fingerprint_rank(const FingerprintKey& key, std::span<const BatchTensor> tensors);

/// The states of a rank as bytes, 64 a tensor, and back; processes of one world run the same program.
std::string pack_states(std::span<const TensorStates> states);
std::vector<TensorStates> unpack_states(std::string_view bytes);

struct FingerprintFinding {
  std::size_t tensor = 0;
  std::string text;  // one sentence
};

/// Judges the states of all ranks of a world, in rank order: the first tensor that did not arrive, or nothing.
std::optional<FingerprintFinding> judge_fingerprints(const FingerprintKey& key, const Case& value,
                                                     std::span<const std::vector<TensorStates>> ranks);

}  // namespace reshardcheck
