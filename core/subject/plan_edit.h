// Plan edits that several mutants share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace reshardcheck {

/// Calls edit(dim, run) once for every run that the box of a transfer uses, for the transfers that `wanted` picks.
/// Boxes and runs may be shared; each run is edited once.
template <typename Wanted, typename Edit>
void edit_runs(Plan& plan, Wanted wanted, Edit edit) {
  std::vector<bool> edited(plan.runs.size(), false);
  for (const Transfer& transfer : plan.transfers) {
    if (!wanted(transfer)) continue;
    const Box box = plan.box_of(transfer);
    for (std::size_t dim = 0; dim < plan.dims; ++dim) {
      for (std::uint32_t i = box.dims[dim].first; i < box.dims[dim].first + box.dims[dim].count; ++i) {
        if (edited[i]) continue;
        edited[i] = true;
        edit(dim, plan.runs[i]);
      }
    }
  }
}

/// True for a transfer that is a message.
inline bool is_message(const Transfer& transfer) { return transfer.from != transfer.to; }

}  // namespace reshardcheck
