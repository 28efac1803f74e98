// Faults for a case: what a campaign with --faults injects, and what it may not lead to.
//
// Under a fault a subject may fail in any way that shows: a hang, an error, a crash by a kill, data that the definition
// finds wrong. What must never be is a pass with wrong data. The definition decides a pass; so the one finding that a
// faulted case can give is another judge of the data that sees something wrong where the definition saw nothing.
#pragma once

#include <vector>

#include "core/layout/case.h"
#include "fuzz/choices.h"
#include "verifier/verdict.h"

namespace reshardcheck {

/// One or two faults of the sim world, most of them on messages and ranks that the case has.
std::vector<Fault> draw_faults(Choices& choices, const Case& value);

/// True when the definition found all data right and another oracle that looks at the data did not.
[[nodiscard]] bool would_pass_wrong_data(const Verdict& verdict);

}  // namespace reshardcheck
