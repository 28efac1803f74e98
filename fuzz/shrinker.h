// Shrinker: makes a failing case as small as it can, over the plain Case.
//
// A layout's parts depend on each other (an extent and the axis that cuts it, a rank list and both meshes), so a
// greedy walk over a tree of choices stops early. This one works in two phases on the value itself:
//   1. leaps: large, coordinated changes, the largest first (one tensor, all options at their defaults, one side
//      replicated on one rank, all extents at once, ...), each kept when it still fails;
//   2. steps: every single change of smaller_cases(), simplest result first, to a fixpoint.
// A case is run at most once (memo by canonical text). Only a failure of the same bucket is accepted; one of
// another bucket is reported as slipped. When the steps end before the budget does, no single step of the result
// fails any more: it is 1-minimal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "fuzz/simplicity.h"
#include "verifier/verdict.h"

namespace reshardcheck {

/// The failure bucket of a verdict. Mismatch, unwritten and stale are one bucket, "wrong_data": which of them a
/// wrong element shows as depends on what the buffer held before, not on the bug.
[[nodiscard]] std::string_view bucket(VerdictKind kind);

/// Every case that is one step simpler, simplest first, each once. The result of the shrinker fails in none.
std::vector<Case> smaller_cases(const Case& value);

/// Runs a case and says what it showed; nothing when it cannot be run (too large).
using RunCase = std::function<std::optional<Verdict>(const Case&)>;

struct ShrinkOptions {
  std::int64_t max_runs = 1'000;                                // executions of the subject
  std::function<bool()> out_of_time;                            // asked before each run; none: only max_runs bounds it
  std::function<void(const Case&, const Verdict&)> on_best;     // each time a simpler failing case is known
  std::function<void(const Case&, const Verdict&)> on_slipped;  // a failure of another bucket
};

struct ShrinkResult {
  Case minimal;
  Verdict verdict;           // of the minimal case
  std::int64_t runs = 0;     // executions spent
  bool one_minimal = false;  // no single step fails; false: the budget ended first
};

/// Shrinks a case that failed with `verdict`.
ShrinkResult shrink(const Case& failing, const Verdict& verdict, const RunCase& run, const ShrinkOptions& options = {});

}  // namespace reshardcheck
