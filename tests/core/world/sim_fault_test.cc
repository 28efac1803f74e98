// Each injected fault does what it says, at the message or rank it names, under every seed.
#include <gtest/gtest.h>

#include <bit>

#include "core/world/sim.h"
#include "tests/core/world/sim_run.h"

namespace reshardcheck {
namespace {

/// What rank 1 has after rank 0 posted the numbers 1..count to it at once.
struct Stream {
  std::vector<Number> received;
  std::vector<CommStatus> received_statuses;
  std::vector<CommStatus> sent_statuses;
  WorldOutcome outcome;
};

Stream stream(std::uint64_t seed, std::vector<Fault> faults, std::size_t count, std::size_t receives) {
  Stream result;
  result.received.assign(receives, Number{untouched});
  SimRun run{.ranks = 2, .seed = seed, .faults = std::move(faults)};
  result.outcome = run.run([&](Endpoint& endpoint) {
    std::vector<Number> numbers(count);
    std::vector<Request> requests;
    if (endpoint.rank() == 0) {
      for (std::size_t index = 0; index < count; ++index) {
        numbers[index].value = static_cast<std::uint32_t>(index) + 1;
        requests.push_back(endpoint.post_send(1, numbers[index].message()));
      }
    } else {
      for (Number& number : result.received) requests.push_back(endpoint.post_receive(0, number.buffer()));
    }
    std::vector<CommStatus>& statuses = endpoint.rank() == 0 ? result.sent_statuses : result.received_statuses;
    for (const Request request : requests) statuses.push_back(endpoint.wait(request));
  });
  return result;
}

std::vector<std::uint32_t> values(const Stream& stream) {
  std::vector<std::uint32_t> values;
  for (const Number& number : stream.received) values.push_back(number.value);
  return values;
}

TEST(SimFault, WithoutOneTheStreamArrives) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    EXPECT_EQ(values(stream(seed, {}, 3, 3)), (std::vector<std::uint32_t>{1, 2, 3}));
  }
}

TEST(SimFault, ADroppedMessageIsMissedByTheReceiverAlone) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    const Stream result = stream(seed, {{FaultKind::drop, 1}}, 3, 3);
    EXPECT_EQ(values(result), (std::vector<std::uint32_t>{1, 3, untouched}));
    EXPECT_EQ(result.sent_statuses, std::vector<CommStatus>(3, CommStatus::ok));
    EXPECT_EQ(result.received_statuses.back(), CommStatus::deadlock);
    EXPECT_EQ(result.outcome.status, CommStatus::deadlock);
    EXPECT_EQ(result.outcome.stuck, "rank 1 waits for a message from rank 0, which has returned");
    EXPECT_EQ(result.outcome.unreceived_messages, 0);
  }
}

TEST(SimFault, ADuplicatedMessageComesTwiceRightAfterItself) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    const Stream result = stream(seed, {{FaultKind::duplicate, 1}}, 3, 4);
    EXPECT_EQ(values(result), (std::vector<std::uint32_t>{1, 2, 2, 3}));
    EXPECT_EQ(result.outcome.status, CommStatus::ok);
    EXPECT_EQ(result.outcome.unreceived_messages, 0);
  }
}

TEST(SimFault, ADuplicateThatNobodyReceivesIsLeftOver) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    const Stream result = stream(seed, {{FaultKind::duplicate, 2}}, 3, 3);
    EXPECT_EQ(values(result), (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_EQ(result.outcome.status, CommStatus::ok);
    EXPECT_EQ(result.outcome.unreceived_messages, 1);
  }
}

TEST(SimFault, ADuplicateCarriesWhatTheOriginalCarriedWhateverTheSenderDoesLater) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    SimRun run{.ranks = 2, .seed = seed, .faults = {{FaultKind::duplicate, 0}}};
    run.run([](Endpoint& endpoint) {
      if (endpoint.rank() == 0) {
        Number number{1};
        EXPECT_EQ(endpoint.send(1, number.message()), CommStatus::ok);
        number.value = 2;
      } else {
        Number first;
        Number second;
        EXPECT_EQ(endpoint.receive(0, first.buffer()), CommStatus::ok);
        EXPECT_EQ(endpoint.receive(0, second.buffer()), CommStatus::ok);
        EXPECT_EQ(first.value, 1U);
        EXPECT_EQ(second.value, 1U);
      }
    });
  }
}

TEST(SimFault, AReorderedMessageChangesPlacesWithTheNext) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    const Stream result = stream(seed, {{FaultKind::reorder, 1}}, 4, 4);
    EXPECT_EQ(values(result), (std::vector<std::uint32_t>{1, 3, 2, 4}));
    EXPECT_EQ(result.outcome.status, CommStatus::ok);
  }
}

TEST(SimFault, AReorderedMessageThatNothingOvertakesArrivesInTheEnd) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    const Stream result = stream(seed, {{FaultKind::reorder, 3}}, 4, 4);
    EXPECT_EQ(values(result), (std::vector<std::uint32_t>{1, 2, 3, 4}));
    EXPECT_EQ(result.outcome.status, CommStatus::ok);
  }
}

TEST(SimFault, ACorruptedMessageDiffersInOneBitThatTheSeedChooses) {
  std::uint32_t seen = 0;
  for (std::uint64_t seed = 0; seed < 2 * tried_seeds; ++seed) {
    const Stream result = stream(seed, {{FaultKind::corrupt, 1}}, 3, 3);
    EXPECT_EQ(result.received[0].value, 1U);
    EXPECT_EQ(std::popcount(result.received[1].value ^ 2U), 1);
    EXPECT_EQ(result.received[2].value, 3U);
    EXPECT_EQ(values(result), values(stream(seed, {{FaultKind::corrupt, 1}}, 3, 3)));
    EXPECT_EQ(result.received_statuses, std::vector<CommStatus>(3, CommStatus::ok)) << "nobody is told";
    seen |= result.received[1].value ^ 2U;
  }
  EXPECT_EQ(seen, 0xFFFFFFFFU) << "some bits are never hit";
}

TEST(SimFault, ATruncatedMessageLacksItsLastByteAndOnlyTheReceiverKnows) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    const Stream result = stream(seed, {{FaultKind::truncate, 0}}, 1, 1);
    Number expected{untouched};
    const Number sent{1};
    std::memcpy(&expected.value, &sent.value, sizeof(sent.value) - 1);
    EXPECT_EQ(result.received[0].value, expected.value);
    EXPECT_EQ(result.received_statuses, std::vector<CommStatus>{CommStatus::size_mismatch});
    EXPECT_EQ(result.sent_statuses, std::vector<CommStatus>{CommStatus::ok});
  }
}

TEST(SimFault, FaultsOnMessagesThatAreNeverSentOrAreEmptyDoNothing) {
  for (const FaultKind kind :
       {FaultKind::drop, FaultKind::duplicate, FaultKind::reorder, FaultKind::corrupt, FaultKind::truncate}) {
    EXPECT_EQ(values(stream(1, {{kind, 3}}, 3, 3)), (std::vector<std::uint32_t>{1, 2, 3}));
  }
  for (const FaultKind kind : {FaultKind::corrupt, FaultKind::truncate}) {
    SimRun run{.ranks = 2, .faults = {{kind, 0}}};
    run.run([](Endpoint& endpoint) {
      EXPECT_EQ(endpoint.rank() == 0 ? endpoint.send(1, {}) : endpoint.receive(0, {}), CommStatus::ok);
    });
  }
}

/// Rank 0 sends two numbers to rank 1, which passes each on to rank 2.
WorldOutcome relay(SimRun& run, std::vector<CommStatus>& last_statuses) {
  last_statuses.assign(3, CommStatus::ok);
  return run.run([&](Endpoint& endpoint) {
    const Rank rank = endpoint.rank();
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
      Number number{turn};
      CommStatus status = rank > 0 ? endpoint.receive(rank - 1, number.buffer()) : CommStatus::ok;
      if (status == CommStatus::ok && rank < 2) status = endpoint.send(rank + 1, number.message());
      last_statuses[static_cast<std::size_t>(rank)] = status;
      if (status != CommStatus::ok) return;
    }
  });
}

TEST(SimFault, AKilledRankIsToldAndItsPeersLoseIt) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    for (std::int64_t call = 0; call < 8; ++call) {  // rank 1 uses the world eight times
      SimRun run{.ranks = 3, .seed = seed, .faults = {{FaultKind::kill, 1, call}}};
      std::vector<CommStatus> statuses;
      const WorldOutcome outcome = relay(run, statuses);
      EXPECT_EQ(outcome.status, CommStatus::peer_lost);
      EXPECT_EQ(statuses[1], CommStatus::killed);
      EXPECT_NE(outcome.stuck.find("rank 1 was killed"), std::string::npos) << outcome.stuck;
      if (call < 7) {
        EXPECT_EQ(statuses[2], CommStatus::peer_lost) << call;
      }
    }
    SimRun run{.ranks = 3, .seed = seed, .faults = {{FaultKind::kill, 1, 8}}};
    std::vector<CommStatus> statuses;
    EXPECT_EQ(relay(run, statuses).status, CommStatus::ok) << "the ninth use never comes";
  }
}

TEST(SimFault, AKilledRankGetsKilledFromEverythingAfterwards) {
  SimRun run{.ranks = 2, .faults = {{FaultKind::kill, 0, 1}}};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    Number number;
    if (endpoint.rank() == 1) {
      EXPECT_EQ(endpoint.receive(0, number.buffer()), CommStatus::peer_lost);
      EXPECT_EQ(endpoint.barrier(), CommStatus::peer_lost);
      return;
    }
    const Request request = endpoint.post_send(1, number.message());
    EXPECT_EQ(endpoint.wait(request), CommStatus::killed);
    EXPECT_EQ(endpoint.wait(request), CommStatus::killed);
    EXPECT_EQ(endpoint.send(1, number.message()), CommStatus::killed);
    EXPECT_EQ(endpoint.barrier(), CommStatus::killed);
    EXPECT_EQ(endpoint.broadcast(0, number.buffer()), CommStatus::killed);
  });
  EXPECT_EQ(outcome.status, CommStatus::peer_lost);
  EXPECT_EQ(outcome.stuck, "rank 0 was killed; rank 1 waits for a message from rank 0, which was killed");
}

TEST(SimFault, ACollectiveLosesItsKilledRank) {
  SimRun run{.ranks = 3, .faults = {{FaultKind::kill, 2, 0}}};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    EXPECT_EQ(endpoint.barrier(), endpoint.rank() == 2 ? CommStatus::killed : CommStatus::peer_lost);
  });
  EXPECT_EQ(outcome.status, CommStatus::peer_lost);
}

TEST(SimFault, AStalledRankStopsUntilNothingElseGoesOn) {
  for (std::uint64_t seed = 0; seed < tried_seeds; ++seed) {
    SimRun run{.ranks = 4, .seed = seed, .faults = {{FaultKind::stall, 3, 0}}};
    bool others_done = false;
    const WorldOutcome outcome = run.run([&](Endpoint& endpoint) {
      Number number{1};
      if (endpoint.rank() == 3) {
        EXPECT_EQ(endpoint.send(2, number.message()), CommStatus::deadlock);
        EXPECT_TRUE(others_done);
        EXPECT_EQ(endpoint.barrier(), CommStatus::deadlock);
      } else if (endpoint.rank() == 2) {
        EXPECT_EQ(endpoint.receive(3, number.buffer()), CommStatus::deadlock);
      } else if (endpoint.rank() == 1) {
        EXPECT_EQ(endpoint.receive(0, number.buffer()), CommStatus::ok);
        others_done = true;
      } else {
        EXPECT_EQ(endpoint.send(1, number.message()), CommStatus::ok);
      }
    });
    EXPECT_EQ(outcome.status, CommStatus::deadlock);
    EXPECT_EQ(outcome.stuck, "rank 3 does not go on; rank 2 waits for a message from rank 3, which does not go on");
  }
}

TEST(SimFault, AKillIsNotCalledOffByAStallOfAnother) {
  SimRun run{.ranks = 2, .faults = {{FaultKind::stall, 0, 0}, {FaultKind::kill, 1, 0}}};
  const WorldOutcome outcome = run.run([](Endpoint& endpoint) {
    EXPECT_EQ(endpoint.barrier(), endpoint.rank() == 0 ? CommStatus::deadlock : CommStatus::killed);
  });
  EXPECT_NE(outcome.status, CommStatus::ok);
  EXPECT_EQ(outcome.stuck, "rank 1 was killed; rank 0 does not go on");
}

}  // namespace
}  // namespace reshardcheck
