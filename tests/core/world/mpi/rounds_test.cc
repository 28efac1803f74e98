// What ranks conclude from their records: a deadlock only when nothing can come any more.
#include "core/world/mpi/rounds.h"

#include <gtest/gtest.h>

namespace reshardcheck {
namespace {

MpiRecord waiting(Standing standing, Rank peer) {
  MpiRecord record;
  record.standing = standing;
  record.peer = peer;
  record.unchanged = true;
  return record;
}

MpiRecord returned() {
  MpiRecord record;
  record.returned = true;
  record.unchanged = true;
  return record;
}

TEST(MpiRounds, ARunIsOverWhenAllItsRanksHaveReturned) {
  const MpiRecord records[] = {returned(), returned(), waiting(Standing::receiving, 0)};
  EXPECT_EQ(conclude(records, 2), MpiConclusion::all_returned);
  EXPECT_EQ(conclude(records, 0), MpiConclusion::all_returned);
  EXPECT_NE(conclude(records, 3), MpiConclusion::all_returned);
}

TEST(MpiRounds, RanksThatWaitWithNothingUnderWayAreADeadlock) {
  const MpiRecord records[] = {waiting(Standing::receiving, 1), returned()};
  EXPECT_EQ(conclude(records, 2), MpiConclusion::deadlock);
}

TEST(MpiRounds, AnythingThatMovedOrMayMoveIsNoDeadlock) {
  MpiRecord records[] = {waiting(Standing::receiving, 1), waiting(Standing::receiving, 0)};
  records[1].unchanged = false;
  EXPECT_EQ(conclude(records, 2), MpiConclusion::go_on) << "a rank has done something since the last round";
  records[1].unchanged = true;
  records[0].tokens_sent = 3;
  records[1].tokens_received = 2;
  EXPECT_EQ(conclude(records, 2), MpiConclusion::go_on) << "a token is on its way";
  records[1].tokens_received = 3;
  records[1].payloads_sent = 1;
  EXPECT_EQ(conclude(records, 2), MpiConclusion::go_on) << "a payload is on its way";
  records[0].payloads_received = 1;
  records[0].moving = true;
  EXPECT_EQ(conclude(records, 2), MpiConclusion::go_on) << "a collective moves its data";
  records[0].moving = false;
  EXPECT_EQ(conclude(records, 2), MpiConclusion::deadlock);
}

TEST(MpiRounds, ACollectiveThatAllHaveJoinedIsUnderWay) {
  MpiRecord records[] = {waiting(Standing::barrier, 0), waiting(Standing::receiving, 0)};
  records[0].collectives = 4;
  records[1].collectives = 4;  // it has left already, and its peer has not heard of it
  EXPECT_EQ(conclude(records, 2), MpiConclusion::go_on);
  records[1].collectives = 3;
  EXPECT_EQ(conclude(records, 2), MpiConclusion::deadlock);
}

TEST(MpiRounds, TheOutcomeIsTheGravestFailureAndWhereRanksStood) {
  MpiRecord records[] = {returned(), returned(), returned()};
  EXPECT_EQ(outcome_of(records, 3).status, CommStatus::ok);
  records[0].failed = CommStatus::deadlock;
  records[0].standing = Standing::receiving;
  records[0].peer = 1;
  records[2].failed = CommStatus::deadline;
  records[2].standing = Standing::allreduce;
  const WorldOutcome outcome = outcome_of(records, 3);
  EXPECT_EQ(outcome.status, CommStatus::deadline);
  EXPECT_EQ(outcome.stuck,
            "rank 0 waits for a message from rank 1, which has returned; rank 2 waits in an allreduce for rank 0");
}

}  // namespace
}  // namespace reshardcheck
