// What the threads world does beyond the laws of all worlds: ranks that are stuck elsewhere and the deadline, several
// copies at a time, and ranks that are real threads.
#include "core/world/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "tests/core/world/number.h"

namespace reshardcheck {
namespace {

TEST(ThreadsWorld, EveryRankHasAThreadOfItsOwnAndKeepsIt) {
  ThreadsWorld world;
  Traffic traffic;
  std::vector<std::thread::id> first(6);
  std::vector<std::thread::id> second(6);
  const auto note = [](std::vector<std::thread::id>& threads) {
    return [&threads](Endpoint& endpoint) {
      threads[static_cast<std::size_t>(endpoint.rank())] = std::this_thread::get_id();
    };
  };
  world.run({.world_ranks = 6}, note(first), traffic);
  world.run({.world_ranks = 6}, note(second), traffic);
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 6U);
}

TEST(ThreadsWorld, RanksMaySynchroniseByOtherMeansWithoutBeingTakenForADeadlock) {
  ThreadsWorld world;
  Traffic traffic;
  std::promise<void> signal;
  const WorldOutcome outcome = world.run(
      {.world_ranks = 3},
      [&](Endpoint& endpoint) {
        Number number{static_cast<std::uint32_t>(endpoint.rank())};
        if (endpoint.rank() == 0) {
          signal.get_future().wait();
          EXPECT_EQ(endpoint.send(2, number.message()), CommStatus::ok);
        } else if (endpoint.rank() == 1) {
          signal.set_value();
        } else {
          EXPECT_EQ(endpoint.receive(0, number.buffer()), CommStatus::ok);
        }
      },
      traffic);
  EXPECT_EQ(outcome.status, CommStatus::ok);
}

TEST(ThreadsWorld, AtTheDeadlineWaitsEndAndTheRankThatDoesNotGoOnIsNamed) {
  ThreadsWorld world;
  Traffic traffic;
  std::promise<void> release;
  const WorldOutcome outcome = world.run(
      {.world_ranks = 3, .deadline_ms = 20},
      [&](Endpoint& endpoint) {
        Number number;
        if (endpoint.rank() == 0) {
          release.get_future().wait();  // stuck outside of the world, until the others have been let go
          EXPECT_EQ(endpoint.send(1, number.message()), CommStatus::deadline);
        } else if (endpoint.rank() == 1) {
          EXPECT_EQ(endpoint.receive(0, number.buffer()), CommStatus::deadline);
          release.set_value();
        } else {
          EXPECT_EQ(endpoint.barrier(), CommStatus::deadline);
        }
      },
      traffic);
  EXPECT_EQ(outcome.status, CommStatus::deadline);
  EXPECT_NE(outcome.stuck.find("rank 0 does not go on"), std::string::npos) << outcome.stuck;
  EXPECT_NE(outcome.stuck.find("rank 1 waits for a message from rank 0, which does not go on"), std::string::npos)
      << outcome.stuck;
}

TEST(ThreadsWorld, ADeadlineThatIsNotMetChangesNothing) {
  ThreadsWorld world;
  Traffic traffic;
  const auto body = [](Endpoint& endpoint) { EXPECT_EQ(endpoint.barrier(), CommStatus::ok); };
  for (int turn = 0; turn < 100; ++turn) {
    EXPECT_EQ(world.run({.world_ranks = 4, .deadline_ms = 60'000}, body, traffic).status, CommStatus::ok);
  }
}

TEST(ThreadsWorld, NobodyLeavesABarrierBeforeAllHaveCome) {
  ThreadsWorld world;
  Traffic traffic;
  std::atomic<int> arrived = 0;
  world.run(
      {.world_ranks = 8},
      [&](Endpoint& endpoint) {
        for (int turn = 1; turn <= 50; ++turn) {
          ++arrived;
          EXPECT_EQ(endpoint.barrier(), CommStatus::ok);
          EXPECT_GE(arrived.load(), 8 * turn);
        }
      },
      traffic);
}

TEST(ThreadsWorld, ManyLargeMessagesCrossAtOnceAndTheRunOutlivesEveryCopy) {
  ThreadsWorld world;
  Traffic traffic;
  constexpr Rank ranks = 6;
  constexpr std::size_t bytes = 300'000;
  for (int turn = 0; turn < 20; ++turn) {
    // A copy that went on after the run would touch freed memory, which the sanitizers see.
    std::vector<std::vector<std::byte>> sent(ranks);
    std::vector<std::vector<std::byte>> received(ranks * ranks);
    const WorldOutcome outcome = world.run(
        {.world_ranks = ranks},
        [&](Endpoint& endpoint) {
          const auto self = static_cast<std::size_t>(endpoint.rank());
          sent[self].assign(bytes, static_cast<std::byte>(self + 1));
          std::vector<Request> requests;
          for (Rank peer = 0; peer < ranks; ++peer) {
            std::vector<std::byte>& buffer = received[self * ranks + static_cast<std::size_t>(peer)];
            buffer.resize(bytes);
            requests.push_back(endpoint.post_receive(peer, buffer));
            requests.push_back(endpoint.post_send(peer, sent[self]));
          }
          // One rank goes without waiting for its last two messages.
          if (endpoint.rank() == turn % ranks) requests.resize(requests.size() - 2);
          for (const Request request : requests) {
            const CommStatus status = endpoint.wait(request);
            EXPECT_TRUE(status == CommStatus::ok || status == CommStatus::deadlock) << name(status);
          }
        },
        traffic);
    EXPECT_TRUE(outcome.status == CommStatus::ok || outcome.status == CommStatus::deadlock);
    for (std::size_t index = 0; index < received.size(); ++index) {
      const auto sender = static_cast<std::byte>(index % ranks + 1);
      EXPECT_TRUE(received[index].front() == sender || received[index].front() == std::byte{0});
      EXPECT_EQ(received[index].front(), received[index].back());
    }
  }
}

}  // namespace
}  // namespace reshardcheck
