// Tensors that lie in several safetensors files, each file one rank's shards: what the layouts of a side say about
// them.
//
// A rule gives the tensors whose names match a pattern a layout. A tensor that is found in k files must then have a
// mesh of k ranks; the files, in the order given, are the ranks in ascending order (files that lack a tensor, as those
// of other pipeline stages do, do not count). A tensor without a rule is whole in each file that has it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/fingerprint_localise.h"
#include "verifier/fingerprint_tensor.h"
#include "verifier/safetensors.h"

namespace reshardcheck {

/// "model.layers.*.q_proj=2x4@0 R,S(0)", "[151936,4096] 8@0 S(0,pad=128)": a pattern (none: every tensor), the shape of
/// the whole tensor (none: worked out from the shards), and the side.
struct LayoutRule {
  std::string pattern = "*";
  std::optional<Shape> shape;
  std::string side;
};

/// Reads a rule. Whether the side fits is seen when it meets a tensor.
Result<LayoutRule> parse_layout_rule(std::string_view text);

/// A tensor with its shards in memory.
struct DealtTensor {
  std::string name;
  DType dtype;
  Layout layout;
  std::vector<const std::byte*> shards;  // by mesh index, dense
};

/// Deals the tensors of the files by the first rule that matches each name; in the order of the first file that has
/// them. Views into the files.
Result<std::vector<DealtTensor>> deal_tensors(std::span<const SafetensorsFile> files,
                                              std::span<const LayoutRule> rules);

/// The state of a tensor, and the replicas that do not have the state of the first of their group.
struct TensorFingerprint {
  FingerprintState state;
  std::vector<Rank> odd_replicas;
};
TensorFingerprint fingerprint_of(const FingerprintKey& key, const DealtTensor& tensor, int threads = 1);

/// The tensor as one side of a localisation. Refers to key and tensor.
PartialFingerprints partial_fingerprints(const FingerprintKey& key, const DealtTensor& tensor, int threads = 1);

}  // namespace reshardcheck
