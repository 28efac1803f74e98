// Each check names what the case has and what the subject takes.
#include "core/subject/capabilities.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

namespace reshardcheck {
namespace {

using Reason = std::optional<std::string>;

template <typename Enumerator>
bool takes(std::uint32_t mask, Enumerator value) {
  return (mask >> static_cast<unsigned>(value) & 1U) != 0;
}

/// A number of the case against a maximum, in which 0 means none.
Reason above(std::size_t count, std::uint32_t maximum, std::string_view unit) {
  if (maximum == 0 || count <= maximum) return std::nullopt;
  return fmt::format("{} {}; the subject takes at most {}", count, unit, maximum);
}

Reason side_outside_of(const reshardcheck_capabilities& capabilities, const Layout& layout) {
  if (Reason reason = above(layout.mesh().axes(), capabilities.max_axes, "mesh axes")) return reason;
  for (const Placement& placement : layout.placements()) {
    if (placement.is_shard() && !takes(capabilities.rules, placement.rule)) {
      return fmt::format("the subject takes no {} split", name(placement.rule));
    }
  }
  return std::nullopt;
}

Reason tensor_outside_of(const reshardcheck_capabilities& capabilities, const TensorCase& tensor) {
  if (!takes(capabilities.dtypes, tensor.dtype)) return fmt::format("the subject takes no {}", name(tensor.dtype));
  if (!takes(capabilities.paths, tensor.path)) return fmt::format("the subject takes no {} path", name(tensor.path));
  if (Reason reason = above(tensor.shape().size(), capabilities.max_dims, "dims")) return reason;
  if (Reason reason = side_outside_of(capabilities, tensor.source)) return reason;
  return side_outside_of(capabilities, tensor.target);
}

/// Ranks on both sides, of one tensor or of two.
Reason overlap(const Case& value) {
  std::vector<bool> is_source(static_cast<std::size_t>(value.world_ranks()));
  for (const TensorCase& tensor : value.tensors) {
    for (const Rank rank : tensor.source.mesh().ranks()) is_source[static_cast<std::size_t>(rank)] = true;
  }
  for (const TensorCase& tensor : value.tensors) {
    for (const Rank rank : tensor.target.mesh().ranks()) {
      if (is_source[static_cast<std::size_t>(rank)]) {
        return fmt::format("rank {} is in a source and in a target mesh; the subject keeps them apart", rank);
      }
    }
  }
  return std::nullopt;
}

/// Ranks outside both meshes of a tensor.
Reason idle_rank(const Case& value) {
  for (const TensorCase& tensor : value.tensors) {
    for (std::int64_t rank = 0; rank < value.world_ranks(); ++rank) {
      const auto here = static_cast<Rank>(rank);
      if (tensor.source.mesh().index_of(here) || tensor.target.mesh().index_of(here)) continue;
      return fmt::format("rank {} is in neither mesh of a tensor; the subject takes no idle ranks", rank);
    }
  }
  return std::nullopt;
}

}  // namespace

Status check_capabilities(const reshardcheck_capabilities& capabilities) {
  if (capabilities.dtypes == 0) return Error{"its capabilities name no dtype"};
  if (capabilities.memory_kinds == 0) return Error{"its capabilities name no memory kind"};
  if (capabilities.paths == 0) return Error{"its capabilities name no path"};
  return Ok{};
}

std::optional<std::string> outside_of(const reshardcheck_capabilities& capabilities, const Case& value) {
  const auto world_ranks = static_cast<std::size_t>(value.world_ranks());
  if (Reason reason = above(world_ranks, capabilities.max_world_ranks, "ranks")) return reason;
  for (const TensorCase& tensor : value.tensors) {
    if (Reason reason = tensor_outside_of(capabilities, tensor)) return reason;
  }
  if (capabilities.strided_local == 0 && value.options.gap_elements > 0) {
    return "the subject takes no gaps between the rows of local tensors";
  }
  if (capabilities.overlap == 0) {
    if (Reason reason = overlap(value)) return reason;
  }
  if (capabilities.idle_ranks == 0) return idle_rank(value);
  return std::nullopt;
}

}  // namespace reshardcheck
