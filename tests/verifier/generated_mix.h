// Random cases for the laws of this room: up to three tensors of any layouts, with every option that a run obeys.
#pragma once

#include <rapidcheck.h>

#include "core/layout/case.h"
#include "tests/core/plan/generated_layouts.h"

namespace reshardcheck::generated {

inline Case mix() {
  Case value;
  for (std::int64_t tensors = number(1, 3); tensors > 0; --tensors) {
    const LayoutPair pair = *layout_pairs();
    const Path path = number(0, 2) == 0 ? Path::gather_broadcast : Path::reshard;
    const DType dtype = all_dtypes[static_cast<std::size_t>(number(0, std::ssize(all_dtypes) - 1))];
    value.tensors.push_back({"", dtype, path, pair.source, pair.target});
    value.options.domain_ranks = pair.topology.domain_ranks;
    value.options.domain_anchor = pair.topology.domain_ranks == 0 ? 0 : pair.topology.anchor;
  }
  value.options.seed = static_cast<std::uint64_t>(number(0, 1'000'000));
  value.options.fill = static_cast<FillKind>(number(0, 3));
  value.options.refits = number(1, 3);
  value.options.gap_elements = number(0, 2);
  value.options.batch_tensors = number(0, 2);
  value.options.chunk_bytes = number(0, 1) * number(1, 40);
  if (number(0, 3) == 0) value.options.world_ranks = value.world_ranks() + 2;
  return value;
}

}  // namespace reshardcheck::generated
