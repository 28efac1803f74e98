// Who waits for whom, when nothing in a world can go on.
//
// Every rank that has not returned stands at one operation and waits for one other rank, so the waits form chains
// that end at a rank that will never answer, or circles. This is where they are told apart and put into words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/world/world.h"

namespace reshardcheck {

/// What a rank does at the moment when nothing goes on. The first three wait for nobody.
enum class Standing : std::uint8_t {
  returned,   // its body has ended
  killed,     // by a fault
  stalled,    // by a fault
  sending,    // its message has not been received
  receiving,  // no message has come
  barrier,
  broadcast,
  allreduce,
};

struct RankWait {
  Standing standing = Standing::returned;
  Rank peer = -1;  // whom it waits for, from `sending` on
};

struct StuckReport {
  CommStatus status = CommStatus::deadlock;  // peer_lost when some chain ends at a killed rank
  std::vector<CommStatus> of_rank;           // how each rank's wait ends: peer_lost or deadlock
  std::string text;                          // WorldOutcome::stuck: the circle, then causes, then the others
};

/// At most this many ranks are named in the text; the rest are counted.
inline constexpr int named_stuck_ranks = 8;

/// `waits` by rank.
StuckReport explain_stuck(std::span<const RankWait> waits);

}  // namespace reshardcheck
