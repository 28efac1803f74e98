// The laws of worlds: order of a pair, rendezvous, sizes, requests, collectives, deadlocks, what is left behind.
#include "tests/core/world/world_laws.h"

#include <stdexcept>

#include "core/world/sim_random.h"
#include "tests/core/world/number.h"

namespace reshardcheck {
namespace {

TEST_P(WorldLaws, MessagesOfAPairArriveInTheOrderOfTheirPosts) {
  const Rank ranks = GetParam().ranks;
  const WorldOutcome outcome = run(ranks, [&](Endpoint& endpoint) {
    const Rank right = (endpoint.rank() + 1) % ranks;
    const Rank left = (endpoint.rank() + ranks - 1) % ranks;
    std::vector<Number> sent(8);
    std::vector<Number> received(8);
    std::vector<Request> requests;
    for (std::uint32_t index = 0; index < 8; ++index) {
      sent[index].value = static_cast<std::uint32_t>(endpoint.rank()) * 100 + index;
      requests.push_back(endpoint.post_send(right, sent[index].message()));
      requests.push_back(endpoint.post_receive(left, received[index].buffer()));
    }
    for (auto request = requests.rbegin(); request != requests.rend(); ++request) {
      EXPECT_EQ(endpoint.wait(*request), CommStatus::ok);
    }
    for (std::uint32_t index = 0; index < 8; ++index) {
      EXPECT_EQ(received[index].value, static_cast<std::uint32_t>(left) * 100 + index);
    }
  });
  EXPECT_EQ(outcome.status, CommStatus::ok);
  EXPECT_EQ(outcome.stuck, "");
  EXPECT_EQ(outcome.unreceived_messages, 0);
}

TEST_P(WorldLaws, BlockingSendsTowardsEachOtherAreACircle) {
  const WorldOutcome outcome = run(2, [](Endpoint& endpoint) {
    Number number;
    EXPECT_EQ(endpoint.send(1 - endpoint.rank(), number.message()), CommStatus::deadlock);
    EXPECT_EQ(endpoint.receive(1 - endpoint.rank(), number.buffer()), CommStatus::deadlock);
  });
  EXPECT_EQ(outcome.status, CommStatus::deadlock);
  EXPECT_EQ(outcome.stuck, "rank 0 waits for a receive on rank 1; rank 1 waits for a receive on rank 0");
  EXPECT_EQ(outcome.unreceived_messages, local_sum({1, 1}));
}

TEST_P(WorldLaws, ASendThatNobodyReceivesNeverFinishes) {
  const WorldOutcome outcome = run(2, [](Endpoint& endpoint) {
    const Number sent{1};
    if (endpoint.rank() == 0) {
      EXPECT_EQ(endpoint.send(1, sent.message()), CommStatus::deadlock);
    }
  });
  EXPECT_EQ(outcome.status, CommStatus::deadlock);
  EXPECT_EQ(outcome.stuck, "rank 0 waits for a receive on rank 1, which has returned");
  EXPECT_EQ(outcome.unreceived_messages, local_sum({1, 0}));
}

TEST_P(WorldLaws, ChainsOfWaitsAreToldWithTheCircleFirst) {
  const Rank waits_for[] = {1, 2, 3, 2};
  const WorldOutcome outcome = run(4, [&](Endpoint& endpoint) {
    Number number;
    EXPECT_EQ(endpoint.receive(waits_for[endpoint.rank()], number.buffer()), CommStatus::deadlock);
  });
  EXPECT_EQ(outcome.stuck,
            "rank 2 waits for a message from rank 3; rank 3 waits for a message from rank 2; "
            "rank 0 waits for a message from rank 1; rank 1 waits for a message from rank 2");
}

TEST_P(WorldLaws, AfterADeadlockEveryOperationFailsAndFinishedOnesKeepTheirStatus) {
  const WorldOutcome outcome = run(2, [](Endpoint& endpoint) {
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

TEST_P(WorldLaws, AWorldIsAsGoodAsNewAfterADeadlock) {
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(run(3,
                  [](Endpoint& endpoint) {
                    Number number;
                    if (endpoint.rank() == 0) {
                      endpoint.barrier();
                    } else {
                      endpoint.post_send(0, number.message());
                      endpoint.receive(2, number.buffer());
                    }
                  })
                  .status,
              CommStatus::deadlock);
    EXPECT_EQ(run(3,
                  [](Endpoint& endpoint) {
                    Number number{static_cast<std::uint32_t>(endpoint.rank()) + 10};
                    EXPECT_EQ(endpoint.broadcast(2, number.buffer()), CommStatus::ok);
                    EXPECT_EQ(number.value, 12U);
                    Number received;
                    if (endpoint.rank() == 1) {
                      EXPECT_EQ(endpoint.send(0, number.message()), CommStatus::ok);
                    } else if (endpoint.rank() == 0) {
                      EXPECT_EQ(endpoint.receive(1, received.buffer()), CommStatus::ok);
                      EXPECT_EQ(received.value, 12U);
                    }
                  })
                  .status,
              CommStatus::ok);
    EXPECT_FALSE(world_->spent());
  }
}

TEST_P(WorldLaws, TheShorterLengthIsDeliveredWhenSizesDifferAndBothEndsAreTold) {
  const std::pair<std::size_t, std::size_t> sizes[] = {{5, 3},      {2, 3}, {0, 3}, {3, 0}, {200'000, 150'000},
                                                       {10, 90'000}};
  for (const auto& [sent_bytes, expected_bytes] : sizes) {
    const std::size_t sent = sent_bytes;
    const std::size_t expected = expected_bytes;
    const WorldOutcome outcome = run(2, [&](Endpoint& endpoint) {
      Number after{7};
      if (endpoint.rank() == 0) {
        const std::vector<std::byte> message(sent, std::byte{7});
        EXPECT_EQ(endpoint.send(1, message), CommStatus::size_mismatch);
        EXPECT_EQ(endpoint.send(1, after.message()), CommStatus::ok);
      } else {
        std::vector<std::byte> buffer(expected + 8, std::byte{1});
        EXPECT_EQ(endpoint.receive(0, std::span(buffer).first(expected)), CommStatus::size_mismatch);
        for (std::size_t index = 0; index < buffer.size(); ++index) {
          ASSERT_EQ(buffer[index], index < std::min(sent, expected) ? std::byte{7} : std::byte{1});
        }
        after.value = untouched;
        EXPECT_EQ(endpoint.receive(0, after.buffer()), CommStatus::ok);
        EXPECT_EQ(after.value, 7U);
      }
    });
    EXPECT_EQ(outcome.status, CommStatus::ok) << "a mismatch is for the ranks to see, the world goes on";
    EXPECT_EQ(outcome.unreceived_messages, 0);
  }
}

TEST_P(WorldLaws, ARankMaySendToItself) {
  const WorldOutcome outcome = run(1, [](Endpoint& endpoint) {
    Number received;
    const Number sent{5};
    const Request receive = endpoint.post_receive(0, received.buffer());
    EXPECT_EQ(endpoint.send(0, sent.message()), CommStatus::ok);
    EXPECT_EQ(endpoint.wait(receive), CommStatus::ok);
    EXPECT_EQ(received.value, 5U);
  });
  EXPECT_EQ(outcome.status, CommStatus::ok);
  EXPECT_EQ(traffic_, (Traffic{.messages = static_cast<std::uint64_t>(local_sum({1}))}));
}

TEST_P(WorldLaws, MessagesAreCountedByLinkClassWhereTheyAreSent) {
  topology_ = {.domain_ranks = 2};
  run(4, [](Endpoint& endpoint) {
    std::vector<std::byte> bytes(10);
    if (endpoint.rank() == 0) {
      EXPECT_EQ(endpoint.send(1, bytes), CommStatus::ok);
      EXPECT_EQ(endpoint.send(2, std::span(bytes).first(0)), CommStatus::ok);
    } else if (endpoint.rank() == 1) {
      EXPECT_EQ(endpoint.receive(0, bytes), CommStatus::ok);
      EXPECT_EQ(endpoint.send(3, std::span(bytes).first(7)), CommStatus::ok);
    } else {
      EXPECT_EQ(endpoint.receive(endpoint.rank() - 2, std::span(bytes).first(endpoint.rank() == 2 ? 0 : 7)),
                CommStatus::ok);
    }
  });
  EXPECT_EQ(traffic_, (Traffic{.messages = static_cast<std::uint64_t>(local_sum({2, 1, 0, 0})),
                               .within_domains_bytes = static_cast<std::uint64_t>(local_sum({10, 0, 0, 0})),
                               .across_domains_bytes = static_cast<std::uint64_t>(local_sum({0, 7, 0, 0}))}));
}

TEST_P(WorldLaws, ALargeMessageArrivesWhole) {
  run(2, [](Endpoint& endpoint) {
    std::vector<std::uint32_t> values(3'000'001);
    const std::span<std::uint32_t> span(values);
    if (endpoint.rank() == 0) {
      std::iota(values.begin(), values.end(), 17U);
      EXPECT_EQ(endpoint.send(1, std::as_bytes(span)), CommStatus::ok);
    } else {
      EXPECT_EQ(endpoint.receive(0, std::as_writable_bytes(span)), CommStatus::ok);
      for (std::uint32_t index = 0; index < values.size(); ++index) ASSERT_EQ(values[index], index + 17U);
    }
  });
}

TEST_P(WorldLaws, AnArgumentThatNamesNobodyIsSaidAtTheWait) {
  const WorldOutcome outcome = run(2, [](Endpoint& endpoint) {
    Number number;
    EXPECT_EQ(endpoint.wait(0), CommStatus::bad_argument) << "nothing was posted";
    EXPECT_EQ(endpoint.send(2, number.message()), CommStatus::bad_argument);
    EXPECT_EQ(endpoint.receive(-1, number.buffer()), CommStatus::bad_argument);
    EXPECT_EQ(endpoint.broadcast(2, number.buffer()), CommStatus::bad_argument);
  });
  EXPECT_EQ(outcome.status, CommStatus::ok);
  EXPECT_EQ(traffic_, Traffic{});
}

TEST_P(WorldLaws, ARequestIsGoodForOneWait) {
  run(2, [](Endpoint& endpoint) {
    const Rank peer = 1 - endpoint.rank();
    const Number sent{1};
    for (int turn = 0; turn < 3; ++turn) {
      Number received;
      const Request receive = endpoint.post_receive(peer, received.buffer());
      const Request send = endpoint.post_send(peer, sent.message());
      EXPECT_EQ(endpoint.wait(send), CommStatus::ok);
      EXPECT_EQ(endpoint.wait(send), CommStatus::bad_argument);
      EXPECT_EQ(endpoint.wait(receive), CommStatus::ok);
      EXPECT_EQ(endpoint.wait(receive), CommStatus::bad_argument);
      EXPECT_EQ(endpoint.wait(receive + 1), CommStatus::bad_argument);
    }
  });
}

TEST_P(WorldLaws, AReceiveLeftBehindTakesNoMessageOfALaterRun) {
  Number left_behind{untouched};
  run(2, [&](Endpoint& endpoint) {
    if (endpoint.rank() == 0) endpoint.post_receive(1, left_behind.buffer());
  });
  const WorldOutcome outcome = run(2, [](Endpoint& endpoint) {
    Number number{7};
    if (endpoint.rank() == 1) {
      EXPECT_EQ(endpoint.send(0, number.message()), CommStatus::ok);
    } else {
      number.value = untouched;
      EXPECT_EQ(endpoint.receive(1, number.buffer()), CommStatus::ok);
      EXPECT_EQ(number.value, 7U);
    }
  });
  EXPECT_EQ(outcome.status, CommStatus::ok);
  EXPECT_EQ(left_behind.value, untouched);
}

TEST_P(WorldLaws, ASendLeftBehindIsCountedAndNotReceivedInALaterRun) {
  const WorldOutcome first = run(2, [](Endpoint& endpoint) {
    const Number number{5};
    for (int turn = 0; turn < 3 && endpoint.rank() == 1; ++turn) endpoint.post_send(0, number.message());
    endpoint.barrier();
  });
  EXPECT_EQ(first.status, CommStatus::ok);
  EXPECT_EQ(first.unreceived_messages, local_sum({0, 3}));
  run(2, [](Endpoint& endpoint) {
    Number number{7};
    if (endpoint.rank() == 1) {
      EXPECT_EQ(endpoint.send(0, number.message()), CommStatus::ok);
    } else {
      EXPECT_EQ(endpoint.receive(1, number.buffer()), CommStatus::ok);
      EXPECT_EQ(number.value, 7U);
    }
  });
}

TEST_P(WorldLaws, WhatBothEndsLeaveBehindDisturbsNoLaterRun) {
  for (std::uint32_t turn = 0; turn < 20; ++turn) {
    Number left_behind{untouched};
    const WorldOutcome outcome = run(2, [&](Endpoint& endpoint) {
      const Number number{turn};
      if (endpoint.rank() == 0) {
        endpoint.post_receive(1, left_behind.buffer());
      } else {
        endpoint.post_send(0, number.message());
      }
      if (turn % 2 == 0) endpoint.barrier();
    });
    EXPECT_EQ(outcome.status, CommStatus::ok);
    run(2, [&](Endpoint& endpoint) {
      Number number{turn + 100};
      if (endpoint.rank() == 1) {
        EXPECT_EQ(endpoint.send(0, number.message()), CommStatus::ok);
      } else {
        EXPECT_EQ(endpoint.receive(1, number.buffer()), CommStatus::ok);
        EXPECT_EQ(number.value, turn + 100);
      }
    });
  }
}

TEST_P(WorldLaws, BroadcastGivesAllRanksTheBytesOfTheRootAndCountsThemThere) {
  topology_ = {.domain_ranks = 2};
  const WorldOutcome outcome = run(4, [](Endpoint& endpoint) {
    Number number{static_cast<std::uint32_t>(endpoint.rank()) + 10};
    EXPECT_EQ(endpoint.broadcast(1, number.buffer()), CommStatus::ok);
    EXPECT_EQ(number.value, 11U);
  });
  EXPECT_EQ(outcome.status, CommStatus::ok);
  EXPECT_EQ(traffic_, (Traffic{.messages = 0,
                               .within_domains_bytes = static_cast<std::uint64_t>(local_sum({0, 4, 0, 0})),
                               .across_domains_bytes = static_cast<std::uint64_t>(local_sum({0, 8, 0, 0}))}));
}

TEST_P(WorldLaws, BroadcastTellsTheRootAndTheRankWhoseBufferDiffers) {
  for (const std::size_t odd_bytes : {3, 6, 0}) {
    run(3, [&](Endpoint& endpoint) {
      std::vector<std::byte> buffer(8, static_cast<std::byte>(endpoint.rank()));
      const std::size_t bytes = endpoint.rank() == 2 ? odd_bytes : 4;
      EXPECT_EQ(endpoint.broadcast(0, std::span(buffer).first(bytes)),
                endpoint.rank() == 1 ? CommStatus::ok : CommStatus::size_mismatch);
      for (std::size_t index = 0; index < buffer.size(); ++index) {
        EXPECT_EQ(buffer[index],
                  index < std::min<std::size_t>(bytes, 4) ? std::byte{0} : static_cast<std::byte>(endpoint.rank()));
      }
      EXPECT_EQ(endpoint.barrier(), CommStatus::ok);
    });
  }
}

TEST_P(WorldLaws, AllreduceReducesOverAllRanks) {
  run(4, [](Endpoint& endpoint) {
    const auto rank = static_cast<std::uint64_t>(endpoint.rank());
    std::vector<std::uint64_t> values = {rank, 10 - rank};
    EXPECT_EQ(endpoint.allreduce(values, Reduction::sum), CommStatus::ok);
    EXPECT_EQ(values, (std::vector<std::uint64_t>{6, 34}));
    values = {rank, 10 - rank};
    EXPECT_EQ(endpoint.allreduce(values, Reduction::maximum), CommStatus::ok);
    EXPECT_EQ(values, (std::vector<std::uint64_t>{3, 10}));
    values = {rank, 10 - rank};
    EXPECT_EQ(endpoint.allreduce(values, Reduction::minimum), CommStatus::ok);
    EXPECT_EQ(values, (std::vector<std::uint64_t>{0, 7}));
    values.resize(endpoint.rank() == 0 ? 1 : 2);
    const std::vector<std::uint64_t> before = values;
    EXPECT_EQ(endpoint.allreduce(values, Reduction::sum), CommStatus::size_mismatch);
    EXPECT_EQ(values, before);
  });
}

TEST_P(WorldLaws, ACollectiveThatARankDoesNotJoinIsStuckOnThatRank) {
  const WorldOutcome outcome = run(3, [](Endpoint& endpoint) {
    if (endpoint.rank() != 1) {
      EXPECT_EQ(endpoint.barrier(), CommStatus::deadlock);
    }
  });
  EXPECT_EQ(outcome.status, CommStatus::deadlock);
  EXPECT_EQ(outcome.stuck,
            "rank 0 waits in a barrier for rank 1, which has returned; "
            "rank 2 waits in a barrier for rank 1, which has returned");
}

TEST_P(WorldLaws, RanksThatJoinDifferentCollectivesAreStuck) {
  const WorldOutcome outcome = run(3, [](Endpoint& endpoint) {
    Number number;
    const CommStatus status = endpoint.rank() == 1 ? endpoint.broadcast(0, number.buffer()) : endpoint.barrier();
    EXPECT_EQ(status, CommStatus::deadlock);
  });
  EXPECT_EQ(outcome.status, CommStatus::deadlock);
  EXPECT_EQ(outcome.stuck,
            "rank 0 waits in a barrier for rank 1; rank 1 waits in a broadcast for rank 0; "
            "rank 2 waits in a barrier for rank 1");
}

TEST_P(WorldLaws, AnExceptionThatEscapesEndsItsRankAndComesOutOfTheRunWhereItRan) {
  const auto body = [](Endpoint& endpoint) {
    if (endpoint.rank() == 1) throw std::logic_error("body");
    EXPECT_EQ(endpoint.barrier(), CommStatus::deadlock);
  };
  if (is_local(1, 3)) {
    EXPECT_THROW(run(3, body), std::logic_error);
  } else {
    EXPECT_EQ(run(3, body).status, CommStatus::deadlock);
  }
  EXPECT_EQ(run(3, [](Endpoint& endpoint) { EXPECT_EQ(endpoint.barrier(), CommStatus::ok); }).status, CommStatus::ok);
}

TEST_P(WorldLaws, OneWorldRunsAnyNumberOfRanksAndIsRenewedInBetween) {
  for (int turn = 0; turn < 3; ++turn) {
    for (Rank ranks = 0; ranks <= GetParam().ranks; ++ranks) {
      Rank ran = 0;
      const WorldOutcome outcome = run(ranks, [&](Endpoint& endpoint) {
        if (is_local(endpoint.rank(), ranks) && world_->local_ranks(ranks).first == endpoint.rank()) ++ran;
        EXPECT_EQ(endpoint.world_ranks(), ranks);
        std::vector<std::uint64_t> values = {1};
        EXPECT_EQ(endpoint.allreduce(values, Reduction::sum), CommStatus::ok);
        EXPECT_EQ(values.front(), static_cast<std::uint64_t>(ranks));
      });
      EXPECT_EQ(outcome.status, CommStatus::ok);
      EXPECT_EQ(ran, world_->local_ranks(ranks).count > 0 ? 1 : 0);
    }
    EXPECT_TRUE(world_->renew());
  }
}

TEST_P(WorldLaws, WhatItCannotRunIsSaidBeforehand) {
  EXPECT_FALSE(world_->unsupported({.world_ranks = GetParam().ranks}));
  EXPECT_TRUE(world_->unsupported({.world_ranks = -1}));
  EXPECT_TRUE(world_->unsupported({.world_ranks = 1'000'000}));
  const Fault fault;
  EXPECT_EQ(world_->unsupported({.world_ranks = 1, .faults = {&fault, 1}}).has_value(), world_->name() != "sim");
}

// Random programs. Every rank works through one common order and posts both ends of what it sends to itself before it
// waits, so the first message that is not delivered always can be.
TEST_P(WorldLaws, ProgramsWhoseMessagesMatchFinishAndDeliverEveryByte) {
  for (seed_ = 0; seed_ < 40; ++seed_) {
    SimRandom random(seed_);
    const Rank ranks = 1 + static_cast<Rank>(random.below(static_cast<std::size_t>(GetParam().ranks)));
    const std::size_t window = 1 + random.below(6);
    struct Message {
      Rank from = 0;
      Rank to = 0;
      std::size_t bytes = 0;
    };
    std::vector<Message> messages(random.below(60));
    for (Message& message : messages) {
      message.from = static_cast<Rank>(random.below(static_cast<std::size_t>(ranks)));
      message.to = static_cast<Rank>(random.below(static_cast<std::size_t>(ranks)));
      message.bytes = random.below(random.below(8) == 0 ? 200'000 : 40);
    }
    const bool one_is_forgotten = seed_ % 4 == 3 && !messages.empty();
    const std::size_t forgotten = one_is_forgotten ? random.below(messages.size()) : messages.size();
    const auto content = [](std::size_t index, std::size_t at) {
      return static_cast<std::byte>(index * 37 + at * 11 + 1);
    };
    const WorldOutcome outcome = run(ranks, [&](Endpoint& endpoint) {
      std::vector<std::vector<std::byte>> buffers(messages.size());
      std::vector<std::vector<std::byte>> received(messages.size());
      std::vector<Request> open;
      bool all_ok = true;
      const auto wait_for_all = [&] {
        for (const Request request : open) all_ok = endpoint.wait(request) == CommStatus::ok && all_ok;
        open.clear();
      };
      for (std::size_t index = 0; index < messages.size(); ++index) {
        const Message& message = messages[index];
        if (message.to == endpoint.rank() && index != forgotten) {
          received[index].resize(message.bytes);
          open.push_back(endpoint.post_receive(message.from, received[index]));
        }
        if (message.from == endpoint.rank()) {
          buffers[index].resize(message.bytes);
          for (std::size_t at = 0; at < message.bytes; ++at) buffers[index][at] = content(index, at);
          open.push_back(endpoint.post_send(message.to, buffers[index]));
        }
        if (open.size() >= window) wait_for_all();
      }
      wait_for_all();
      if (one_is_forgotten) return;
      EXPECT_TRUE(all_ok);
      for (std::size_t index = 0; index < messages.size(); ++index) {
        for (std::size_t at = 0; at < received[index].size(); ++at) ASSERT_EQ(received[index][at], content(index, at));
      }
    });
    EXPECT_EQ(outcome.status, one_is_forgotten ? CommStatus::deadlock : CommStatus::ok) << "seed " << seed_;
    EXPECT_EQ(outcome.stuck.empty(), !one_is_forgotten);
  }
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WorldLaws);

}  // namespace reshardcheck
