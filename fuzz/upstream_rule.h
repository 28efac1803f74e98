// The upstream rule: how a public test suite of reshards judges a case, re-created to measure what it misses.
//
// Every byte of the source is (g0 + g1*G1 + g2*G1*G2 + ...) mod 256, where g0 is the innermost coordinate in bytes, g1
// the next one outwards, and G1, G2 are the extents they run over: the row-major byte offset in the whole tensor,
// modulo 256. Targets start as zeros, the subject is called once, and the bytes are compared. There are no guard bands,
// no second poison, no further refit, and sources are not looked at again. A pattern that repeats every 256 bytes
// cannot see two shards exchanged whose offsets differ by a multiple of 256.
//
// This is an oracle named mod256, for `bench power` alone. Nothing else may trust it.
#pragma once

#include "core/layout/case.h"
#include "core/subject/subject.h"
#include "core/world/sim.h"

namespace reshardcheck {

/// True when the rule sees that something is wrong: a byte differs, ranks are stuck, or a rank reports an error.
bool upstream_rule_fails(const Case& value, Subject& subject, SimWorld& world);

}  // namespace reshardcheck
