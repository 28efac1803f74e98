// The gather-broadcast oracle: moves the data a second time, the plain way, and compares bitwise.
//
// Independent of plans, planners and engines. For every tensor one rank per distinct source shard, by the naive owner
// map, sends its local tensor as it is to the first source rank; that root puts the whole tensor together and sends
// it to every target rank, which picks its part by the naive map and compares it with what the subject delivered.
// Tensors above `in_turn_bytes` go to one target at a time, so that one copy besides the root's exists at a time.
#pragma once

#include <cstdint>

#include "core/layout/case.h"
#include "core/world/world.h"
#include "verifier/fill.h"
#include "verifier/local_buffers.h"
#include "verifier/naive_oracle.h"
#include "verifier/rank_report.h"

namespace reshardcheck {

inline constexpr std::int64_t in_turn_bytes = std::int64_t{64} << 10;

/// One rank's part; every rank of the world calls it, after `call` has been checked. Adds to report.gather_broadcast.
void check_by_gather_broadcast(Endpoint& endpoint, const Case& value, const NaiveMaps& maps, Call call,
                               const LocalBuffers& buffers, RankReport& report);

/// Bytes the oracle needs at most at one time, over all ranks; saturates.
std::int64_t gather_broadcast_bytes(const Case& value);

}  // namespace reshardcheck
