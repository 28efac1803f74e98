// Laws of the planners: what they plan is right by the prover and by an element-by-element run, moves no more than it
// must, and costs nothing per element.
#include "core/plan/planner.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "core/layout/notation.h"
#include "core/plan/prover.h"
#include "tests/core/plan/element_run.h"
#include "tests/core/plan/generated_layouts.h"

namespace reshardcheck {
namespace {

/// The layouts and topology that a line of case notation says.
LayoutPair pair_of(std::string_view text) {
  const Result<Case> value = parse_case(text);
  RESHARDCHECK_CHECK(value.ok());
  return {value->tensors.front().source, value->tensors.front().target, Topology::of(value->options)};
}

Plan plan_of(PlannerKind planner, const LayoutPair& pair) {
  return make_plan(planner, pair.source, pair.target, pair.topology);
}

Proof proof_of(const Plan& plan, const LayoutPair& pair) {
  return prove(plan, pair.source, pair.target, pair.topology);
}

std::string first_violation(const Proof& proof) { return proof.holds() ? "" : proof.violations.front().text; }

RC_GTEST_PROP(Planner, PlansProveOnEveryPairOfLayouts, ()) {
  const LayoutPair pair = *layout_pairs();
  for (const PlannerKind planner : all_planners) {
    const Proof proof = proof_of(plan_of(planner, pair), pair);
    RC_LOG() << name(planner) << ": " << first_violation(proof) << "\n";
    RC_ASSERT(proof.holds());
  }
}

RC_GTEST_PROP(Planner, PlansDeliverEveryElementWhenTheyAreRun, ()) {
  const LayoutPair pair = *layout_pairs();
  for (const PlannerKind planner : all_planners) {
    RC_LOG() << name(planner) << "\n";
    RC_ASSERT(runs_right(plan_of(planner, pair), pair.source, pair.target));
  }
}

RC_GTEST_PROP(Planner, WhatEntersARankIsWhatItOwns, ()) {
  const LayoutPair pair = *layout_pairs();
  for (const PlannerKind planner : all_planners) {
    const Plan plan = plan_of(planner, pair);
    std::map<Rank, std::int64_t> entered;
    for (const Transfer& transfer : plan.transfers) {
      if (transfer.kind != TransferKind::gather) entered[transfer.to] += plan.box_of(transfer).elements;
    }
    for (std::size_t i = 0; i < pair.target.mesh().size(); ++i) {
      RC_ASSERT(entered[pair.target.mesh().ranks()[i]] == pair.target.owned_elements(i));
    }
  }
}

RC_GTEST_PROP(Planner, MovingALayoutToItselfOnlyCopies, ()) {
  LayoutPair pair = *layout_pairs();
  pair.target = pair.source;
  for (const PlannerKind planner : {PlannerKind::direct, PlannerKind::replica_aware}) {
    const Plan plan = plan_of(planner, pair);
    for (const Transfer& transfer : plan.transfers) RC_ASSERT(transfer.kind == TransferKind::copy);
    RC_ASSERT(proof_of(plan, pair).messages == 0);
  }
}

RC_GTEST_PROP(Planner, ReplicaAwareMovesTheBoundAcrossDomainsAndNoPlannerLess, ()) {
  const LayoutPair pair = *layout_pairs();
  const std::int64_t bound = across_domains_bound(pair.source, pair.target, pair.topology);
  RC_ASSERT(proof_of(plan_of(PlannerKind::replica_aware, pair), pair).moved.across_domains == bound);
  RC_ASSERT(proof_of(plan_of(PlannerKind::direct, pair), pair).moved.across_domains >= bound);
  RC_ASSERT(proof_of(plan_of(PlannerKind::gather_broadcast, pair), pair).moved.across_domains >= bound);
}

RC_GTEST_PROP(Planner, TheBoundIsTheElementsThatADomainWantsAndDoesNotHold, ()) {
  const LayoutPair pair = *layout_pairs();
  const auto held_in = [&](const Layout& layout, std::int64_t domain, const std::vector<std::int64_t>& element) {
    for (std::size_t i = 0; i < layout.mesh().size(); ++i) {
      if (pair.topology.domain_of(layout.mesh().ranks()[i]) != domain) continue;
      bool held = true;
      for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
        held = held && layout.piece(i, dim).owned.find(element[dim]).has_value();
      }
      if (held) return true;
    }
    return false;
  };
  std::int64_t lacked = 0;
  std::vector<std::int64_t> domains;
  for (const Rank rank : pair.target.mesh().ranks()) domains.push_back(pair.topology.domain_of(rank));
  std::sort(domains.begin(), domains.end());
  domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
  for (std::int64_t flat = 0; flat < elements(pair.source.shape()); ++flat) {
    std::vector<std::int64_t> element(pair.source.dims());
    std::int64_t rest = flat;
    for (std::size_t dim = element.size(); dim-- > 0; rest /= pair.source.shape()[dim]) {
      element[dim] = rest % pair.source.shape()[dim];
    }
    for (const std::int64_t domain : domains) {
      if (held_in(pair.target, domain, element) && !held_in(pair.source, domain, element)) ++lacked;
    }
  }
  RC_ASSERT(across_domains_bound(pair.source, pair.target, pair.topology) == lacked);
}

RC_GTEST_PROP(Planner, EqualLayoutsGiveEqualPlans, ()) {
  const LayoutPair pair = *layout_pairs();
  for (const PlannerKind planner : all_planners) RC_ASSERT(plan_of(planner, pair) == plan_of(planner, pair));
}

RC_GTEST_PROP(Planner, OverlapsAreThePairsOfShardsThatShareElementsInTargetOrder, ()) {
  const LayoutPair pair = *layout_pairs();
  std::vector<Run> runs;
  const std::vector<ShardOverlap> found = overlaps(pair.source, pair.target, runs);
  std::size_t next = 0;
  for (std::size_t target = 0; target < pair.target.shards(); ++target) {
    for (std::size_t source = 0; source < pair.source.shards(); ++source) {
      std::int64_t shared = 1;
      for (std::size_t dim = 0; dim < pair.source.dims(); ++dim) {
        std::vector<Overlap> unused;
        shared *=
            intersect(pair.source.shard_piece(source, dim).owned, pair.target.shard_piece(target, dim).owned, unused);
      }
      if (shared == 0) continue;
      RC_ASSERT(next < found.size());
      RC_ASSERT(found[next].source_shard == source);
      RC_ASSERT(found[next].target_shard == target);
      RC_ASSERT(found[next].box.elements == shared);
      ++next;
    }
  }
  RC_ASSERT(next == found.size());
}

TEST(Planner, APlanIsAsLargeForAHugeTensorAsForASmallOne) {
  const LayoutPair small = pair_of("u8[24,24] 4x2@0 S(0),S(1) -> 3x2@4 S(1),R | domain=4");
  const LayoutPair large = pair_of("u8[2400000000,2400000000] 4x2@0 S(0),S(1) -> 3x2@4 S(1),R | domain=4");
  for (const PlannerKind planner : all_planners) {
    const Plan a = plan_of(planner, small);
    const Plan b = plan_of(planner, large);
    EXPECT_EQ(a.transfers.size(), b.transfers.size());
    EXPECT_EQ(a.runs.size(), b.runs.size());
    EXPECT_EQ(a.boxes.size(), b.boxes.size());
    EXPECT_TRUE(proof_of(b, large).holds()) << first_violation(proof_of(b, large));
  }
}

TEST(Planner, AScalarIsOneBoxOfOneElementAndAnEmptyTensorNone) {
  const LayoutPair scalar = pair_of("u8[] 2@0 R -> 2@2 R");
  const Plan plan = plan_of(PlannerKind::direct, scalar);
  ASSERT_EQ(plan.boxes.size(), 1U);
  EXPECT_EQ(plan.boxes.front().elements, 1);
  EXPECT_EQ(plan.transfers.size(), 2U);
  const LayoutPair empty = pair_of("u8[4,0] 2@0 S(0) -> 2@2 S(0)");
  for (const PlannerKind planner : all_planners) {
    EXPECT_TRUE(plan_of(planner, empty).transfers.empty());
    EXPECT_TRUE(plan_of(planner, empty).boxes.empty());
  }
}

TEST(Planner, ARankWithAnEmptyShardTakesPartInNothing) {
  const LayoutPair pair = pair_of("u8[5] 4@0 S(0) -> 4@4 S(0)");  // 2,2,1,0 on both sides
  for (const PlannerKind planner : all_planners) {
    for (const Transfer& transfer : plan_of(planner, pair).transfers) {
      EXPECT_NE(transfer.from, 3);
      EXPECT_NE(transfer.to, 7);
    }
  }
}

TEST(Planner, DirectDealsThePiecesRoundOverTheSourceReplicas) {
  const Plan plan = plan_of(PlannerKind::direct, pair_of("u8[8] 4@0 R -> 8@4 S(0)"));
  std::map<Rank, int> sends;
  for (const Transfer& transfer : plan.transfers) ++sends[transfer.from];
  EXPECT_EQ(sends, (std::map<Rank, int>{{0, 2}, {1, 2}, {2, 2}, {3, 2}}));
}

TEST(Planner, ReplicaAwareSpreadsTheEntriesOverBothSidesReplicas) {
  // Two source replicas of eight shards in domains of their own, four target replicas of all in one other domain.
  const LayoutPair pair = pair_of("u8[8] 2x8@0 R,S(0) -> 4@16 R | domain=16");
  const Plan plan = plan_of(PlannerKind::replica_aware, pair);
  std::map<Rank, int> entries;
  int from_first_replica = 0;
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.kind != TransferKind::direct) continue;
    ++entries[transfer.to];
    if (transfer.from < 8) ++from_first_replica;
  }
  EXPECT_EQ(entries, (std::map<Rank, int>{{16, 2}, {17, 2}, {18, 2}, {19, 2}}));
  EXPECT_EQ(from_first_replica, 4);
}

TEST(Planner, ReplicaAwareServesFromInsideTheDomainWhereItCan) {
  // Ranks 2 and 3 share a domain with source replicas: nothing crosses to them.
  const LayoutPair pair = pair_of("u8[4] 2x2{0,1,4,5} R,S(0) -> 4{2,3,6,7} R | domain=4");
  const Proof proof = proof_of(plan_of(PlannerKind::replica_aware, pair), pair);
  EXPECT_EQ(proof.moved.across_domains, 0);
  EXPECT_EQ(proof.moved.within_domains, 16);
}

TEST(Planner, GatherBroadcastMovesThePartsOfTheRootWithoutMessages) {
  const LayoutPair pair = pair_of("u8[8] 4@0 S(0) -> 2{0,4} R");
  const Plan plan = plan_of(PlannerKind::gather_broadcast, pair);
  const Proof proof = proof_of(plan, pair);
  EXPECT_EQ(plan.stage_rank, 0);
  EXPECT_EQ(proof.messages, 4);         // three shards to the root, the tensor to rank 4
  EXPECT_EQ(proof.moved.local, 2 + 8);  // the root's shard into the stage, the stage into its target
  EXPECT_EQ(proof.moved.within_domains, 6 + 8);
  EXPECT_EQ(proof.largest_send_elements, 8);
  EXPECT_EQ(proof.largest_receive_elements, 8);
}

TEST(Planner, NamesParseBack) {
  for (const PlannerKind planner : all_planners) EXPECT_EQ(parse_planner(name(planner)), planner);
  EXPECT_FALSE(parse_planner("fast").has_value());
  EXPECT_EQ(planner_for(Path::reshard, PlannerKind::direct), PlannerKind::direct);
  EXPECT_EQ(planner_for(Path::gather_broadcast, PlannerKind::direct), PlannerKind::gather_broadcast);
}

}  // namespace
}  // namespace reshardcheck
