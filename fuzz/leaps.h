// Leaps: the large, coordinated changes that the shrinker tries before single steps.
//
// Most bugs show on one of a few tiny cases, so the tiny cases are tried outright; what a bug needs (an option, an
// arrangement of ranks, a rule, a dtype, a domain) is kept and the rest replaced. Starting from the same tiny cases
// is also what lets different failures of one bug end in the same minimal case.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/layout/case.h"
#include "fuzz/draft.h"
#include "fuzz/simplicity.h"

namespace reshardcheck {

/// Changes that belong together, in the order in which they are tried on the draft as it then is.
struct Leap {
  std::vector<std::function<void(CaseDraft&)>> changes;
  bool first_only = false;  // the first that still fails ends the leap
};

/// The leaps for a draft, in order. A function of the draft as it is when the leap begins.
using MakeLeap = Leap (*)(const CaseDraft&);
[[nodiscard]] std::span<const MakeLeap> leaps();

/// Combinations of smaller axes and extents, simplest first: what must shrink together does. All remainders up to two
/// rows a part are among them; bounded in number.
std::vector<Case> smaller_sizes(const CaseDraft& draft);

}  // namespace reshardcheck
