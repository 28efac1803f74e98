// The network alone, without ranks that run: matching, delivery, faults on messages, accounts.
#include "core/world/network.h"

#include <gtest/gtest.h>

#include "tests/core/world/sim_run.h"

namespace reshardcheck {
namespace {

TEST(Network, DeliversNothingUntilBothEndsArePosted) {
  Network network;
  network.begin({}, {});
  Number number;
  const Number sent{7};
  network.post_receive({0, 1}, number.buffer());
  EXPECT_FALSE(network.can_deliver());
  network.post_receive({1, 0}, number.buffer());
  EXPECT_FALSE(network.can_deliver()) << "the pairs (0,1) and (1,0) are different";
  network.post_send({0, 1}, sent.message());
  EXPECT_TRUE(network.can_deliver());
}

TEST(Network, TakesThePayloadAtDeliveryAndNotBefore) {
  Network network;
  SimRandom random(1);
  network.begin({}, {});
  Number received;
  Number sent{7};
  network.post_send({0, 1}, sent.message());
  network.post_receive({0, 1}, received.buffer());
  sent.value = 8;
  network.deliver(random);
  EXPECT_EQ(received.value, 8U);
}

TEST(Network, NeverWritesToACancelledReceive) {
  Network network;
  SimRandom random(1);
  network.begin({}, {});
  Number cancelled{untouched};
  Number received;
  const Number sent{7};
  const Network::Id send = network.post_send({0, 1}, sent.message());
  const Network::Id receive = network.post_receive({0, 1}, cancelled.buffer());
  network.post_send({2, 1}, sent.message());
  network.post_receive({2, 1}, received.buffer());
  network.cancel(receive);
  network.deliver(random);
  EXPECT_FALSE(network.can_deliver());
  EXPECT_EQ(received.value, 7U);
  EXPECT_EQ(cancelled.value, untouched);
  EXPECT_FALSE(network.done(send));
  EXPECT_EQ(network.undelivered_messages(), 1);
}

TEST(Network, MatchesWithTheNextReceiveWhenTheFirstWasCancelledInTime) {
  Network network;
  SimRandom random(1);
  network.begin({}, {});
  Number cancelled{untouched};
  Number received{untouched};
  const Number sent{7};
  network.cancel(network.post_receive({0, 1}, cancelled.buffer()));
  network.post_receive({0, 1}, received.buffer());
  network.post_send({0, 1}, sent.message());
  network.deliver(random);
  EXPECT_EQ(received.value, 7U);
  EXPECT_EQ(cancelled.value, untouched);
}

TEST(Network, KeepsThousandsOfPairsApartAndForgetsThemInTheNextRun) {
  Network network;
  SimRandom random(1);
  constexpr Rank ranks = 60;
  for (int run = 0; run < 3; ++run) {
    network.begin({}, {});
    std::vector<Number> sent(ranks * ranks);
    std::vector<Number> received(ranks * ranks);
    for (Rank from = 0; from < ranks; ++from) {
      for (Rank to = 0; to < ranks; ++to) {
        const auto index = static_cast<std::size_t>(from * ranks + to);
        sent[index].value = static_cast<std::uint32_t>(index) + 1;
        network.post_send({from, to}, sent[index].message());
        network.post_receive({from, to}, received[index].buffer());
      }
    }
    while (network.can_deliver()) network.deliver(random);
    for (std::size_t index = 0; index < sent.size(); ++index) ASSERT_EQ(received[index].value, sent[index].value);
    EXPECT_EQ(network.traffic().messages, sent.size());
    EXPECT_EQ(network.undelivered_messages(), 0);
  }
}

TEST(Network, CountsBytesByLinkClassAndSelfSendsAsMessagesOnly) {
  Network network;
  SimRandom random(1);
  network.begin({}, Topology{.domain_ranks = 2});
  Number received;
  const Number sent{7};
  for (const RankPair pair : {RankPair{0, 0}, RankPair{0, 1}, RankPair{1, 2}, RankPair{3, 0}}) {
    network.post_send(pair, sent.message());
    network.post_receive(pair, received.buffer());
    network.deliver(random);
  }
  EXPECT_EQ(network.traffic(), (Traffic{.messages = 4, .within_domains_bytes = 4, .across_domains_bytes = 8}));
}

TEST(Network, HoldsAReorderedMessageOnlyUntilItIsLetGo) {
  Network network;
  SimRandom random(1);
  const std::vector<Fault> faults = {{FaultKind::reorder, 0}};
  network.begin(faults, {});
  Number received;
  const Number sent{7};
  network.post_receive({0, 1}, received.buffer());
  network.post_send({0, 1}, sent.message());
  EXPECT_FALSE(network.can_deliver());
  EXPECT_TRUE(network.let_go_of_held());
  EXPECT_FALSE(network.let_go_of_held());
  network.deliver(random);
  EXPECT_EQ(received.value, 7U);
}

}  // namespace
}  // namespace reshardcheck
