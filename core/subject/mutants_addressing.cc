// Mutants that know who holds what and compute ranks, offsets or strides wrongly.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/subject/local_memory.h"
#include "core/subject/misread.h"
#include "core/subject/mutant.h"
#include "core/subject/plan_edit.h"

namespace reshardcheck {
namespace {

void rank_arithmetic(SeenSide& side) {
  const SeenSide truth(side.layout, side.is_source);
  for (std::size_t i = 0; i < side.size(); ++i) {
    const auto distance = static_cast<std::size_t>(side.ranks[i] - side.layout.mesh().lowest_rank());
    for (std::size_t dim = 0; dim < side.dims(); ++dim) side.piece(i, dim) = truth.piece(distance % side.size(), dim);
  }
}

/// Each end knows itself and counts its peers from 0: the sender addresses one rank, the receiver expects another.
void address_from_zero(Plan& plan, const PlanContext& context) {
  const Rank source_base = context.tensor.source.mesh().lowest_rank();
  const Rank target_base = context.tensor.target.mesh().lowest_rank();
  if (source_base == 0 && target_base == 0) return;
  std::vector<Transfer> transfers;
  for (const Transfer& transfer : plan.transfers) {
    if (!is_message(transfer)) {
      transfers.push_back(transfer);
      continue;
    }
    Transfer sent = transfer;
    Transfer received = transfer;
    sent.to -= transfer.kind == TransferKind::gather ? source_base : target_base;
    received.from -= transfer.kind == TransferKind::relay ? target_base : source_base;
    if (sent.to == transfer.to && received.from == transfer.from) {
      transfers.push_back(transfer);
      continue;
    }
    sent.received = false;
    received.sent = false;
    transfers.push_back(sent);
    transfers.push_back(received);
  }
  plan.transfers = std::move(transfers);
}

/// Ranks below the number of sources send, the others receive, whatever the meshes say.
void role_by_half(SeenSide& source, SeenSide& target) {
  const auto sources = static_cast<Rank>(source.size());
  const Rank highest = std::max(source.layout.mesh().highest_rank(), target.layout.mesh().highest_rank());
  for (std::size_t i = 0; i < source.size(); ++i) source.ranks[i] = static_cast<Rank>(i);
  for (std::size_t i = 0; i < target.size(); ++i) {
    const bool is_source = target.ranks[i] < sources;
    const Rank believed = sources + static_cast<Rank>(i);
    target.ranks[i] = is_source || believed > highest ? SeenSide::no_rank : believed;
  }
}

/// The first two dims of equal extent above 1, if any.
std::optional<std::pair<std::size_t, std::size_t>> square(const Shape& shape) {
  for (std::size_t a = 0; a < shape.size(); ++a) {
    for (std::size_t b = a + 1; b < shape.size(); ++b) {
      if (shape[a] == shape[b] && shape[a] > 1) return std::pair(a, b);
    }
  }
  return std::nullopt;
}

Deviation transpose_square(const MutantOptions&) {
  Deviation deviation = misread([](SeenSide& side) {
    const auto dims = square(side.shape());
    if (!side.is_source || !dims) return;
    for (std::size_t i = 0; i < side.size(); ++i) std::swap(side.piece(i, dims->first), side.piece(i, dims->second));
  });
  deviation.see = [](std::vector<BatchTensor>& tensors, RankMemory&) {
    for (BatchTensor& tensor : tensors) {
      const auto dims = square(tensor.spec->shape());
      if (!dims || !tensor.source.present()) continue;
      std::swap(tensor.source.shape[dims->first], tensor.source.shape[dims->second]);
      std::swap(tensor.source.strides[dims->first], tensor.source.strides[dims->second]);
    }
  };
  return deviation;
}

Deviation stride_dim(const MutantOptions&) {
  Deviation deviation;
  deviation.see = [](std::vector<BatchTensor>& tensors, RankMemory&) {
    for (BatchTensor& tensor : tensors) {
      const std::size_t dims = tensor.spec->shape().size();
      if (dims < 3 || !tensor.target.present()) continue;
      for (const Placement& placement : tensor.spec->target.placements()) {
        if (placement.is_replicate() || placement.dim + 1 >= static_cast<int>(dims)) continue;
        const auto dim = static_cast<std::size_t>(placement.dim);
        tensor.target.strides[dim] = tensor.target.strides[dim + 1];
        break;
      }
    }
  };
  return deviation;
}

Deviation local_as_global(const MutantOptions&) {
  Deviation deviation;
  deviation.bend = [](Plan& plan, const PlanContext&) {
    edit_runs(
        plan, [](const Transfer&) { return true; },
        [](std::size_t dim, Run& run) {
          if (dim == 0) run.to_offset = run.begin;
        });
  };
  deviation.engine.reach_bytes = guard_band_bytes;
  return deviation;
}

Deviation offset_32(const MutantOptions& options) {
  Deviation deviation;
  deviation.bend = [mask = (std::int64_t{1} << options["width"]) - 1](Plan& plan, const PlanContext&) {
    edit_runs(
        plan, [](const Transfer&) { return true; }, [&](std::size_t, Run& run) { run.from_offset &= mask; });
  };
  return deviation;
}

Deviation row_align(const MutantOptions& options) {
  Deviation deviation;
  deviation.bend = [bytes = options["bytes"]](Plan& plan, const PlanContext& context) {
    const std::int64_t step = std::max<std::int64_t>(1, bytes / width_bytes(context.tensor.dtype));
    edit_runs(
        plan, [](const Transfer&) { return true; },
        [&](std::size_t dim, Run& run) {
          if (dim + 1 == plan.dims) run.from_offset -= run.from_offset % step;
        });
  };
  return deviation;
}

Deviation ignore_strides(const MutantOptions&) {
  Deviation deviation;
  deviation.see = [](std::vector<BatchTensor>& tensors, RankMemory&) {
    for (BatchTensor& tensor : tensors) {
      LocalTensor& source = tensor.source;
      if (source.present()) source.strides = dense_strides(tensor.spec->source.local_shape(source.mesh_index));
    }
  };
  return deviation;
}

}  // namespace

std::vector<Mutant> addressing_mutants() {
  return {
      {"rank-arithmetic", "coordinate from rank - first rank, the mesh's rank list ignored", "mismatch, unwritten",
       "pytorch#157523", [](const MutantOptions&) { return misread(rank_arithmetic); }},
      {"base-ignored", "a side whose ranks do not start at 0 is addressed from 0", "error, hang, mismatch",
       "M2N release notes v0.2",
       [](const MutantOptions&) {
         Deviation deviation;
         deviation.bend = address_from_zero;
         return deviation;
       }},
      {"role-by-half", "who is source is decided by rank < source count", "mismatch, unwritten", "modelexpress#497",
       [](const MutantOptions&) { return misread_both(role_by_half); }},
      {"transpose-square", "two dims exchanged when their extents are equal", "mismatch", "slime#2004",
       transpose_square},
      {"stride-dim", "wrong dim's stride when the target shards a dim that is not innermost of three",
       "mismatch, guard", "M2N issue notes", stride_dim},
      {"local-as-global", "a global expert index is used as a local one", "guard, mismatch, unwritten",
       "vllm-gaudi#1796", local_as_global},
      {"offset-32",
       "element offset truncated at a width in bits",
       "mismatch",
       "nccl#184",
       offset_32,
       {{"width", 1, 1, 40}}},
      {"row-align", "rows rounded down to 16 bytes", "mismatch", "tt-metal#49122", row_align, {{"bytes", 16}}},
      {"ignore-strides", "a non-contiguous local tensor is read as contiguous", "mismatch", "vllm#57130",
       ignore_strides},
  };
}

}  // namespace reshardcheck
