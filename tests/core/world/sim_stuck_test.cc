// Deadlocks and dead ranks: every wait ends, and the outcome says who waited for whom.
#include <gtest/gtest.h>

#include "core/world/sim.h"
#include "core/world/stuck.h"
#include "tests/core/world/sim_run.h"

namespace reshardcheck {
namespace {

TEST(SimDeadlock, ASendThatNobodyReceivesNeverFinishes) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    SimRun run{.ranks = 2, .seed = seed};
    const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
      const Number sent{1};
      if (endpoint.rank() == 0) {
        EXPECT_EQ(endpoint.send(1, sent.message()), CommStatus::deadlock);
      }
    });
    EXPECT_EQ(outcome.status, CommStatus::deadlock);
    EXPECT_EQ(outcome.stuck, "rank 0 waits for a receive on rank 1, which has returned");
    EXPECT_EQ(outcome.unreceived_messages, 1);
  }
}

TEST(SimDeadlock, BlockingSendsTowardsEachOtherAreACircle) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    SimRun run{.ranks = 2, .seed = seed};
    const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
      Number number;
      endpoint.send(1 - endpoint.rank(), number.message());
      endpoint.receive(1 - endpoint.rank(), number.buffer());
    });
    EXPECT_EQ(outcome.status, CommStatus::deadlock);
    EXPECT_EQ(outcome.stuck, "rank 0 waits for a receive on rank 1; rank 1 waits for a receive on rank 0");
  }
}

TEST(SimDeadlock, TheCircleComesFirstAndInOrder) {
  SimRun run{.ranks = 6};
  const Rank waits_for[] = {3, 4, 5, 5, 2, 1};  // 0 -> 3 -> 5 -> 1 -> 4 -> 2 -> 5
  const WorldOutcome outcome = run.run([&](Endpoint& endpoint) {
    Number number;
    EXPECT_EQ(endpoint.receive(waits_for[endpoint.rank()], number.buffer()), CommStatus::deadlock);
  });
  EXPECT_EQ(outcome.stuck,
            "rank 1 waits for a message from rank 4; rank 4 waits for a message from rank 2; "
            "rank 2 waits for a message from rank 5; rank 5 waits for a message from rank 1; "
            "rank 0 waits for a message from rank 3; rank 3 waits for a message from rank 5");
}

TEST(SimDeadlock, ARankCanWaitForItself) {
  SimRun run{.ranks = 1};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    const Number sent{1};
    EXPECT_EQ(endpoint.send(0, sent.message()), CommStatus::deadlock);
  });
  EXPECT_EQ(outcome.stuck, "rank 0 waits for a receive on rank 0");
}

TEST(SimDeadlock, AfterItEveryOperationFailsAtOnceAndFinishedOnesKeepTheirStatus) {
  SimRun run{.ranks = 2};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    Number number;
    Number other{5};
    const Rank peer = 1 - endpoint.rank();
    const Request good =
        endpoint.rank() == 0 ? endpoint.post_send(1, other.message()) : endpoint.post_receive(0, number.buffer());
    const Request never = endpoint.post_receive(peer, other.buffer());
    EXPECT_EQ(endpoint.wait(never), CommStatus::deadlock);
    EXPECT_EQ(endpoint.wait(good), CommStatus::ok);
    EXPECT_EQ(endpoint.wait(never), CommStatus::bad_argument);
    EXPECT_EQ(endpoint.send(peer, other.message()), CommStatus::deadlock);
    EXPECT_EQ(endpoint.receive(peer, other.buffer()), CommStatus::deadlock);
    EXPECT_EQ(endpoint.barrier(), CommStatus::deadlock);
    EXPECT_EQ(endpoint.broadcast(0, other.buffer()), CommStatus::deadlock);
    EXPECT_EQ(endpoint.allreduce({}, Reduction::sum), CommStatus::deadlock);
  });
  EXPECT_EQ(outcome.status, CommStatus::deadlock);
}

TEST(SimDeadlock, ACollectiveThatARankDoesNotJoinIsStuckOnThatRank) {
  SimRun run{.ranks = 3};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    if (endpoint.rank() != 1) {
      EXPECT_EQ(endpoint.barrier(), CommStatus::deadlock);
    }
  });
  EXPECT_EQ(outcome.stuck,
            "rank 0 waits in a barrier for rank 1, which has returned; "
            "rank 2 waits in a barrier for rank 1, which has returned");
}

TEST(SimDeadlock, RanksThatJoinDifferentCollectivesAreStuck) {
  SimRun run{.ranks = 3};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    Number number;
    const CommStatus status = endpoint.rank() == 1 ? endpoint.broadcast(0, number.buffer()) : endpoint.barrier();
    EXPECT_EQ(status, CommStatus::deadlock);
  });
  EXPECT_EQ(outcome.stuck,
            "rank 0 waits in a barrier for rank 1; rank 1 waits in a broadcast for rank 0; "
            "rank 2 waits in a barrier for rank 1");
}

TEST(SimDeadlock, OfManyRanksOnlyTheFirstAreNamed) {
  SimRun run{.ranks = 100};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    Number number;
    endpoint.receive((endpoint.rank() + 1) % endpoint.world_ranks(), number.buffer());
  });
  EXPECT_EQ(outcome.stuck.substr(0, 40), "rank 0 waits for a message from rank 1; ");
  EXPECT_EQ(outcome.stuck.substr(outcome.stuck.size() - 13), "; and 92 more") << outcome.stuck;
}

TEST(ExplainStuck, AChainThatEndsAtAKilledRankIsALostPeerAndACircleIsNot) {
  const RankWait waits[] = {{Standing::receiving, 1}, {Standing::sending, 2}, {Standing::killed},
                            {Standing::receiving, 4}, {Standing::sending, 3}, {Standing::receiving, 6},
                            {Standing::returned}};
  const StuckReport report = explain_stuck(waits);
  EXPECT_EQ(report.status, CommStatus::peer_lost);
  const std::vector<CommStatus> first(report.of_rank.begin(), report.of_rank.begin() + 6);
  EXPECT_EQ(first, (std::vector<CommStatus>{CommStatus::peer_lost, CommStatus::peer_lost, CommStatus::peer_lost,
                                            CommStatus::deadlock, CommStatus::deadlock, CommStatus::deadlock}));
  EXPECT_EQ(report.text,
            "rank 3 waits for a message from rank 4; rank 4 waits for a receive on rank 3; rank 2 was killed; "
            "rank 1 waits for a receive on rank 2, which was killed; "
            "rank 5 waits for a message from rank 6, which has returned; rank 0 waits for a message from rank 1");
}

}  // namespace
}  // namespace reshardcheck
