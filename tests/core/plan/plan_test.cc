// Laws of the plan value: its index lists every end of every transfer once, and its text is one line for people.
#include "core/plan/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/plan/planner.h"
#include "tests/core/plan/generated_layouts.h"

namespace reshardcheck {
namespace {

RC_GTEST_PROP(PlanIndex, ListsEveryEndOnceAtItsRankInPlanOrder, ()) {
  const LayoutPair pair = *layout_pairs();
  for (const PlannerKind planner : all_planners) {
    const Plan plan = make_plan(planner, pair.source, pair.target, pair.topology);
    const PlanIndex index(plan, 20 + 12);
    std::vector<int> sends(plan.transfers.size(), 0);
    std::vector<int> receives(plan.transfers.size(), 0);
    std::vector<int> copies(plan.transfers.size(), 0);
    for (Rank rank = 0; rank < 32; ++rank) {
      const auto note = [&](std::span<const std::uint32_t> list, std::vector<int>& counts, Rank Transfer::*end) {
        RC_ASSERT(std::is_sorted(list.begin(), list.end()));
        for (const std::uint32_t transfer : list) {
          ++counts[transfer];
          RC_ASSERT((plan.transfers[transfer].*end) == rank);
        }
      };
      note(index.sends(rank), sends, &Transfer::from);
      note(index.receives(rank), receives, &Transfer::to);
      note(index.copies(rank), copies, &Transfer::to);
    }
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
      const int message = plan.transfers[i].from == plan.transfers[i].to ? 0 : 1;
      RC_ASSERT(sends[i] == message);
      RC_ASSERT(receives[i] == message);
      RC_ASSERT(copies[i] == 1 - message);
      RC_ASSERT(plan.transfers[i].send_step < index.steps());
    }
  }
}

TEST(PlanIndex, LeavesOutEndsThatDoNotHappenAndRanksOutsideTheWorld) {
  Plan plan;
  plan.boxes.push_back({{}, 1});
  plan.transfers = {{0, 1, TransferKind::direct, 0, 0, false, true, 0},
                    {0, 1, TransferKind::direct, 0, 3, true, false, 0},
                    {0, 9, TransferKind::direct, 0, 0, true, true, 0},
                    {1, 1, TransferKind::copy, 0, 0, true, false, 0}};
  const PlanIndex index(plan, 2);
  EXPECT_EQ(std::vector(index.sends(0).begin(), index.sends(0).end()), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(std::vector(index.receives(1).begin(), index.receives(1).end()), (std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(index.copies(1).empty());
  EXPECT_TRUE(index.sends(9).empty());
  EXPECT_TRUE(index.sends(-1).empty());
  EXPECT_EQ(index.steps(), 4);
}

TEST(Plan, ABroadcastCarriesTheWholeTensorAndALocalMoveNothing) {
  Plan plan;
  plan.boxes.push_back({{}, 6});
  const auto carried = [&](TransferKind kind, Rank to) {
    return plan.message_elements({0, to, kind, 0, 0, true, true, 0}, 24);
  };
  EXPECT_EQ(carried(TransferKind::direct, 1), 6);
  EXPECT_EQ(carried(TransferKind::gather, 1), 6);
  EXPECT_EQ(carried(TransferKind::gather, 0), 0);
  EXPECT_EQ(carried(TransferKind::broadcast, 1), 24);
  EXPECT_EQ(carried(TransferKind::broadcast, 0), 0);
  EXPECT_EQ(carried(TransferKind::copy, 0), 0);
}

TEST(Plan, TextNamesStepRanksKindAndBox) {
  Plan plan;
  plan.dims = 2;
  plan.runs = {{0, 2, 0, 0}, {0, 3, 0, 0}, {5, 1, 3, 3}};
  plan.boxes = {{{RunRange{0, 1}, RunRange{1, 2}}, 8}, {{RunRange{2, 1}, RunRange{2, 1}}, 1}};
  EXPECT_EQ(to_text(plan, {0, 4, TransferKind::direct, 0, 0, true, true, 0}),
            "step 0: rank 0 -> rank 4: [0,2)x[0,3)[5,6), 8 elements");
  EXPECT_EQ(to_text(plan, {4, 5, TransferKind::relay, 1, 1, true, true, 1}),
            "step 1: rank 4 -> rank 5 (relay): [5,6)x[5,6), 1 element");
  EXPECT_EQ(to_text(plan, {0, 4, TransferKind::direct, 0, 1, true, true, 7}),
            "step 0 to 1: rank 0 -> rank 4: box 7 does not exist");
}

}  // namespace
}  // namespace reshardcheck
