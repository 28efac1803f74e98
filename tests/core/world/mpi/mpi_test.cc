// What the mpi world does beyond the laws of all worlds: ranks that are stuck elsewhere, the deadline, a world that is
// spent, the subject's communicator, and messages that an int cannot count.
#include "core/world/mpi.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <vector>

#include "core/world/mpi/mpi_call.h"
#include "tests/core/world/number.h"

namespace reshardcheck {
namespace {

/// A signal from one process to another behind the world's back.
void signal_process(int to) { MPI_Send(nullptr, 0, MPI_BYTE, to, 7, MPI_COMM_WORLD); }
void await_process(int from) { MPI_Recv(nullptr, 0, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

TEST(MpiWorld, AtTheDeadlineWaitsEndAndTheWorldIsStillGood) {
  MpiWorld world;
  Traffic traffic;
  for (int turn = 0; turn < 3; ++turn) {
    const WorldOutcome outcome = world.run(
        {.world_ranks = 4, .deadline_ms = 100},
        [&](Endpoint& endpoint) {
          Number number;
          if (endpoint.rank() == 0) {
            await_process(1);  // stuck outside of the world, until the others have been let go
          } else if (endpoint.rank() == 1) {
            EXPECT_EQ(endpoint.receive(0, number.buffer()), CommStatus::deadline);
            signal_process(0);
          } else {
            EXPECT_EQ(endpoint.barrier(), CommStatus::deadline);
          }
        },
        traffic);
    EXPECT_EQ(outcome.status, CommStatus::deadline);
    EXPECT_EQ(outcome.stuck.substr(0, 40), "rank 1 waits for a message from rank 0, ") << outcome.stuck;
    EXPECT_EQ(
        world
            .run(
                {.world_ranks = 4}, [](Endpoint& endpoint) { EXPECT_EQ(endpoint.barrier(), CommStatus::ok); }, traffic)
            .status,
        CommStatus::ok);
  }
}

TEST(MpiWorld, ARankThatDoesNotComeBackSpendsTheWorldEverywhere) {
  MpiWorld world({.grace_ms = 50, .longest_run_ms = 2'000});
  Traffic traffic;
  const WorldOutcome outcome = world.run(
      {.world_ranks = 2, .deadline_ms = 50},
      [&](Endpoint& endpoint) {
        if (endpoint.rank() == 0) await_process(1);
      },
      traffic);
  if (world.process() == 1) {
    EXPECT_EQ(outcome.status, CommStatus::deadline);
    EXPECT_TRUE(world.spent());
    EXPECT_NE(world.failure(), "");
    EXPECT_EQ(world.unsupported({.world_ranks = 1}), world.failure());
    signal_process(0);
  }
  // A process that was too slow to see the deadline sees that not all come to what is next.
  EXPECT_FALSE(world.renew());
  EXPECT_TRUE(world.spent());
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(MpiWorld, TheSubjectHasACommunicatorOfTheRunsRanksThatAFailedRunDoesNotSpoil) {
  MpiWorld world;
  Traffic traffic;
  for (int turn = 0; turn < 3; ++turn) {
    const WorldOutcome good = world.run(
        {.world_ranks = 3},
        [](Endpoint& endpoint) {
          const MPI_Comm communicator = *static_cast<MPI_Comm*>(endpoint.mpi_communicator());
          int ranks = 1;
          EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &ranks, 1, MPI_INT, MPI_SUM, communicator), MPI_SUCCESS);
          EXPECT_EQ(ranks, 3);
        },
        traffic);
    EXPECT_EQ(good.status, CommStatus::ok);
    int value = 0;
    MPI_Request left_behind = MPI_REQUEST_NULL;
    const WorldOutcome bad = world.run(
        {.world_ranks = 3},
        [&](Endpoint& endpoint) {
          const MPI_Comm communicator = *static_cast<MPI_Comm*>(endpoint.mpi_communicator());
          if (endpoint.rank() == 0) MPI_Irecv(&value, 1, MPI_INT, 1, 0, communicator, &left_behind);
          if (endpoint.rank() != 1) {
            EXPECT_EQ(endpoint.barrier(), CommStatus::deadlock);
          }
        },
        traffic);
    EXPECT_EQ(bad.status, CommStatus::deadlock);
    if (left_behind != MPI_REQUEST_NULL) {
      MPI_Cancel(&left_behind);
      MPI_Wait(&left_behind, MPI_STATUS_IGNORE);
    }
  }
}

TEST(MpiWorld, LargeMessagesThatAReceiverLeavesBehindAreClearedAway) {
  MpiWorld world;
  Traffic traffic;
  for (int turn = 0; turn < 10; ++turn) {
    std::vector<std::byte> buffer(2'000'000, static_cast<std::byte>(turn));
    const WorldOutcome outcome = world.run(
        {.world_ranks = 2},
        [&](Endpoint& endpoint) {
          if (endpoint.rank() == 0) {
            endpoint.post_receive(1, buffer);
          } else {
            EXPECT_EQ(endpoint.send(0, buffer), CommStatus::ok) << "the receive had been posted";
          }
        },
        traffic);
    EXPECT_EQ(outcome.status, CommStatus::ok);
    EXPECT_FALSE(world.spent()) << world.failure();
  }
}

/// Longer than 2^31 bytes when run by hand with RESHARDCHECK_LONG_MESSAGE_BYTES=2400000011 (twice that of memory).
TEST(MpiWorld, ALongMessageArrivesWholeAndItsLengthIsKnown) {
  const char* given = std::getenv("RESHARDCHECK_LONG_MESSAGE_BYTES");
  const std::size_t bytes = given != nullptr ? std::strtoull(given, nullptr, 10) : 3'000'017;
  MpiWorld world;
  Traffic traffic;
  const WorldOutcome outcome = world.run(
      {.world_ranks = 2},
      [&](Endpoint& endpoint) {
        std::vector<std::byte> message(bytes);
        const auto content = [](std::size_t at) { return static_cast<std::byte>((at * 0x9E3779B97F4A7C15U) >> 56U); };
        if (endpoint.rank() == 0) {
          for (std::size_t at = 0; at < bytes; ++at) message[at] = content(at);
          EXPECT_EQ(endpoint.send(1, message), CommStatus::ok);
          EXPECT_EQ(endpoint.send(1, std::span(message).first(bytes - 1)), CommStatus::size_mismatch);
          EXPECT_EQ(endpoint.broadcast(0, message), CommStatus::ok);
          return;
        }
        std::size_t wrong = 0;
        EXPECT_EQ(endpoint.receive(0, message), CommStatus::ok);
        for (std::size_t at = 0; at < bytes; ++at) wrong += message[at] != content(at) ? 1U : 0U;
        EXPECT_EQ(wrong, 0U);
        std::fill(message.begin(), message.end(), std::byte{0});
        EXPECT_EQ(endpoint.receive(0, message), CommStatus::size_mismatch);
        for (std::size_t at = 0; at + 1 < bytes; ++at) wrong += message[at] != content(at) ? 1U : 0U;
        EXPECT_EQ(wrong, 0U);
        EXPECT_EQ(message.back(), std::byte{0});
        std::fill(message.begin(), message.end(), std::byte{0});
        EXPECT_EQ(endpoint.broadcast(0, message), CommStatus::ok);
        for (std::size_t at = 0; at < bytes; ++at) wrong += message[at] != content(at) ? 1U : 0U;
        EXPECT_EQ(wrong, 0U);
      },
      traffic);
  EXPECT_EQ(outcome.status, CommStatus::ok) << outcome.stuck;
  if (world.process() == 0) {
    EXPECT_EQ(traffic.within_domains_bytes, 3 * bytes - 1);
  }
}

TEST(MpiCall, AFailedCallSaysWhatFailedAndWhere) {
  EXPECT_TRUE(RESHARDCHECK_MPI(MPI_SUCCESS).ok());
  const Status status = RESHARDCHECK_MPI(MPI_ERR_COUNT);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().reason.find("MPI_ERR_COUNT failed with code"), std::string::npos) << status.error().reason;
  EXPECT_NE(status.error().reason.find("mpi_test.cc:"), std::string::npos) << status.error().reason;
}

}  // namespace
}  // namespace reshardcheck
