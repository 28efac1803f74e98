// Laws of the prover: each kind of violation is seen in a plan bent by hand, and on random plans, right and bent at
// random, the prover says what an element-by-element run of the plan shows.
#include "core/plan/prover.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/layout/notation.h"
#include "core/plan/planner.h"
#include "tests/core/plan/element_run.h"
#include "tests/core/plan/generated_layouts.h"

namespace reshardcheck {
namespace {

/// A right plan to bend.
struct Subject {
  explicit Subject(std::string_view text, PlannerKind planner = PlannerKind::direct) {
    const Result<Case> value = parse_case(text);
    RESHARDCHECK_CHECK(value.ok());
    const TensorCase& tensor = value->tensors.front();
    layouts = std::make_unique<LayoutPair>(LayoutPair{tensor.source, tensor.target, Topology::of(value->options)});
    plan = make_plan(planner, tensor.source, tensor.target, layouts->topology);
    RESHARDCHECK_CHECK(proof().holds());
  }

  [[nodiscard]] Proof proof() const { return prove(plan, layouts->source, layouts->target, layouts->topology); }

  /// The text of the first violation of that kind, or nothing when there is none.
  [[nodiscard]] std::optional<std::string> violation(ViolationKind kind) const {
    for (const Violation& violation : proof().violations) {
      if (violation.kind == kind) return violation.text;
    }
    return std::nullopt;
  }

  std::unique_ptr<LayoutPair> layouts;
  Plan plan;
};

constexpr std::string_view halves_to_rows = "u8[4,4] 2@0 S(1) -> 2@2 S(0)";

TEST(Prover, ABoxThatDoesNotExistIsABadTransfer) {
  Subject subject(halves_to_rows);
  subject.plan.transfers[0].box = 99;
  EXPECT_TRUE(subject.violation(ViolationKind::bad_transfer).has_value());
}

TEST(Prover, ARankThatDoesNotTakePartIsABadTransfer) {
  for (const Rank stranger : {Rank{-1}, Rank{2}, Rank{70'000}}) {
    Subject subject(halves_to_rows);
    subject.plan.transfers[0].from = stranger;
    EXPECT_TRUE(subject.violation(ViolationKind::bad_transfer).has_value()) << stranger;
  }
  for (const Rank stranger : {Rank{-1}, Rank{1}, Rank{70'000}}) {
    Subject subject(halves_to_rows);
    subject.plan.transfers[0].to = stranger;
    EXPECT_TRUE(subject.violation(ViolationKind::bad_transfer).has_value()) << stranger;
  }
}

TEST(Prover, BoxesThatMakeNoSenseAreBadTransfers) {
  const auto bent = [](auto&& bend) {
    Subject subject(halves_to_rows);
    bend(subject.plan);
    return subject.violation(ViolationKind::bad_transfer).has_value();
  };
  EXPECT_TRUE(bent([](Plan& plan) { plan.runs[0].begin = 4; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.runs[0].begin = -1; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.runs[0].length = INT64_MAX; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.runs[0].length = 0; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.boxes[0].elements += 1; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.boxes[0].dims[0].count = 0; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.boxes[0].dims[0].first = 1'000; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.boxes[0].dims[0].count = 0xFFFFFFFF; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.transfers[0].send_step = max_steps; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.transfers[0].kind = TransferKind::copy; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.transfers[0].kind = TransferKind::gather; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.transfers[0].kind = TransferKind::broadcast; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.transfers[0].kind = TransferKind::relay; }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.transfers[0].kind = static_cast<TransferKind>(9); }));
  EXPECT_TRUE(bent([](Plan& plan) { plan.dims = 1; }));
  EXPECT_TRUE(bent([](Plan& plan) {  // the same run twice in one box
    plan.runs.push_back(plan.runs[0]);
    plan.runs.push_back(plan.runs[0]);
    plan.boxes[0].dims[0] = {static_cast<std::uint32_t>(plan.runs.size()) - 2, 2};
    plan.boxes[0].elements *= 2;
  }));
}

TEST(Prover, SeesASenderThatDoesNotHoldWhatItSends) {
  Subject subject(halves_to_rows);
  ASSERT_EQ(subject.plan.transfers[0].from, 0);
  subject.plan.transfers[0].from = 1;
  EXPECT_EQ(subject.violation(ViolationKind::not_held),
            "step 0: rank 1 -> rank 2: [0,2)x[0,2), 4 elements: rank 1 does not hold [0,2) of dim 1 at offset 0");
}

TEST(Prover, SeesARunThatIsReadAtAnotherOffset) {
  Subject subject("u8[6] 1@0 R -> 2@1 S(0)");
  subject.plan.runs[1].from_offset = 0;  // elements 3..5, read where 0..2 lie
  EXPECT_TRUE(subject.violation(ViolationKind::not_held).has_value());
}

TEST(Prover, SeesARelayOfWhatHasNotArrivedYet) {
  Subject subject("u8[4] 2@0 S(0) -> 2@2 R | domain=2", PlannerKind::replica_aware);
  const auto relay = std::find_if(subject.plan.transfers.begin(), subject.plan.transfers.end(),
                                  [](const Transfer& transfer) { return transfer.kind == TransferKind::relay; });
  ASSERT_NE(relay, subject.plan.transfers.end());
  relay->send_step = relay->receive_step = 0;
  EXPECT_TRUE(subject.violation(ViolationKind::not_held).has_value());
}

TEST(Prover, SeesABroadcastOfAStageThatIsNotComplete) {
  Subject subject("u8[4] 2@0 S(0) -> 2@2 R", PlannerKind::gather_broadcast);
  subject.plan.transfers[1].send_step = subject.plan.transfers[1].receive_step = 1;
  EXPECT_TRUE(subject.violation(ViolationKind::not_held).has_value());
}

TEST(Prover, SeesAReceiverThatDoesNotWantWhatItGets) {
  Subject subject(halves_to_rows);
  subject.plan.transfers[0].to = 3;
  EXPECT_TRUE(subject.violation(ViolationKind::misplaced).has_value());
}

TEST(Prover, SeesARunThatIsWrittenToAnotherOffset) {
  Subject subject("u8[6] 2@0 S(0) -> 1@2 R");
  subject.plan.runs[1].to_offset = 0;
  EXPECT_TRUE(subject.violation(ViolationKind::misplaced).has_value());
}

TEST(Prover, SeesAnElementThatIsWrittenTwice) {
  Subject subject(halves_to_rows);
  subject.plan.transfers.push_back(subject.plan.transfers[1]);
  EXPECT_EQ(subject.violation(ViolationKind::written_twice),
            "rank 2: [0,2)x[2,4) is written twice, by (step 0: rank 1 -> rank 2: [0,2)x[2,4), 4 elements) and by "
            "(step 0: rank 1 -> rank 2: [0,2)x[2,4), 4 elements)");
  EXPECT_FALSE(subject.violation(ViolationKind::never_written).has_value());
}

TEST(Prover, SeesOneElementTwiceAndOneNeverWhenTheCountIsRight) {
  // Rank 1 should get [0,2) and [2,4); it gets [0,2) and, cut anew, [1,3).
  Subject subject("u8[4] 1@0 R -> 1@1 R");
  subject.plan.runs = {{0, 2, 0, 0}, {1, 2, 1, 1}};
  subject.plan.boxes = {{{RunRange{0, 1}}, 2}, {{RunRange{1, 1}}, 2}};
  subject.plan.transfers = {subject.plan.transfers[0], subject.plan.transfers[0]};
  subject.plan.transfers[1].box = 1;
  ASSERT_TRUE(subject.violation(ViolationKind::written_twice).has_value());
  EXPECT_TRUE(subject.violation(ViolationKind::written_twice)->starts_with("rank 1: [1,2) is written twice"));
  EXPECT_EQ(subject.violation(ViolationKind::never_written), "rank 1: [3,4) is never written");
}

TEST(Prover, NamesTheElementsThatAreNeverWritten) {
  Subject subject(halves_to_rows);
  subject.plan.transfers.pop_back();  // rank 1 -> rank 3: rows 2 and 3, columns 2 and 3
  EXPECT_EQ(subject.violation(ViolationKind::never_written), "rank 3: [2,4)x[2,4) is never written");
}

TEST(Prover, AStageIsHeldToTheSameRule) {
  Subject gap("u8[4] 2@0 S(0) -> 2@2 R", PlannerKind::gather_broadcast);
  gap.plan.transfers.erase(gap.plan.transfers.begin() + 1);
  EXPECT_EQ(gap.violation(ViolationKind::never_written), "the stage of rank 0: [2,4) is never written");
  Subject twice("u8[4] 2@0 S(0) -> 2@2 R", PlannerKind::gather_broadcast);
  twice.plan.transfers.insert(twice.plan.transfers.begin(), twice.plan.transfers[1]);
  EXPECT_TRUE(twice.violation(ViolationKind::written_twice).has_value());
}

TEST(Prover, ARightPlanThatIsNoGridHolds) {
  // A pinwheel: four bars around a centre, which no product of cuts makes.
  Subject subject("u8[3,3] 1@0 R -> 1@1 R");
  const Transfer transfer = subject.plan.transfers.front();
  subject.plan = Plan{2, {}, {}, {}, -1};
  const auto add = [&](Interval rows, Interval columns) {
    const auto first = static_cast<std::uint32_t>(subject.plan.runs.size());
    subject.plan.runs.push_back({rows.begin, rows.size(), rows.begin, rows.begin});
    subject.plan.runs.push_back({columns.begin, columns.size(), columns.begin, columns.begin});
    subject.plan.transfers.push_back(transfer);
    subject.plan.transfers.back().box = static_cast<std::uint32_t>(subject.plan.boxes.size());
    subject.plan.boxes.push_back({{RunRange{first, 1}, RunRange{first + 1, 1}}, rows.size() * columns.size()});
  };
  add({0, 1}, {0, 2});
  add({0, 2}, {2, 3});
  add({2, 3}, {1, 3});
  add({1, 3}, {0, 1});
  EXPECT_EQ(subject.violation(ViolationKind::never_written), "rank 1: [1,2)x[1,2) is never written");
  add({1, 2}, {1, 2});
  EXPECT_TRUE(subject.proof().holds());
  add({1, 2}, {1, 3});
  EXPECT_TRUE(subject.violation(ViolationKind::written_twice).has_value());
}

TEST(Prover, SeesASendWithoutAReceive) {
  Subject subject(halves_to_rows);
  subject.plan.transfers[0].received = false;
  EXPECT_EQ(subject.violation(ViolationKind::unmatched),
            "step 0: rank 0 -> rank 2: [0,2)x[0,2), 4 elements: sent but never received");
}

TEST(Prover, SeesAReceiveWithoutASend) {
  Subject subject(halves_to_rows);
  subject.plan.transfers[0].sent = false;
  const Proof proof = subject.proof();
  ASSERT_EQ(proof.violations.size(), 1U);
  EXPECT_EQ(proof.violations[0].kind, ViolationKind::unmatched);
}

TEST(Prover, SeesTwoMessagesOfAPairThatArriveInEachOthersPlace) {
  Subject subject("u8[2] 1@0 R -> 1@1 R");
  subject.plan.runs = {{0, 1, 0, 0}, {1, 1, 1, 1}};
  subject.plan.boxes = {{{RunRange{0, 1}}, 1}, {{RunRange{1, 1}}, 1}};
  subject.plan.transfers.push_back(subject.plan.transfers[0]);
  subject.plan.transfers[1].box = 1;
  ASSERT_TRUE(subject.proof().holds());
  subject.plan.transfers[0].receive_step = 1;
  EXPECT_TRUE(subject.violation(ViolationKind::unmatched).has_value());
}

TEST(Prover, SeesRanksThatWaitForEachOther) {
  Subject subject("u8[4] 2@0 S(0) -> 2{1,0} S(0)");  // two ranks that change places
  ASSERT_EQ(subject.plan.transfers.size(), 2U);
  for (Transfer& transfer : subject.plan.transfers) transfer.receive_step = 1;
  EXPECT_EQ(subject.violation(ViolationKind::cyclic_wait),
            "rank 0 in step 0 waits for rank 1 to come to step 1; rank 1 in step 0 waits for rank 0 to come to step 1");
}

TEST(Prover, ALaterReceiveAloneIsNoCircle) {
  Subject subject("u8[4] 2@0 S(0) -> 2@2 S(0)");
  for (Transfer& transfer : subject.plan.transfers) transfer.receive_step = 1;
  EXPECT_TRUE(subject.proof().holds());
}

TEST(Prover, SeesTrafficBelowTheBound) {
  Subject subject("u8[8] 2@0 S(0) -> 2@2 S(0) | domain=2");
  subject.plan.transfers.pop_back();
  EXPECT_EQ(subject.violation(ViolationKind::below_bound),
            "4 elements cross domains, but no correct plan can do with fewer than 8");
}

TEST(Prover, CountsWhatMovesByLinkClass) {
  // Rank 0 keeps its half, rank 1 is in its domain, ranks 4 and 5 are in another.
  const Subject subject("u8[8] 2@0 S(0) -> 4{0,1,4,5} R | domain=4", PlannerKind::replica_aware);
  const Proof proof = subject.proof();
  EXPECT_EQ(proof.moved, (LinkElements{8, 8 + 8, 8}));
  EXPECT_EQ(proof.across_domains_bound, 8);
  EXPECT_EQ(proof.messages, 6);
}

TEST(Prover, ReportsFewOfEachKindAndLeavesNoneOut) {
  Subject subject("u8[64] 32@0 S(0) -> 32@32 S(0) | domain=32");
  for (std::size_t i = 0; i < 31; ++i) subject.plan.transfers[i].from = 31;
  subject.plan.transfers[31].received = false;
  const Proof proof = subject.proof();
  EXPECT_EQ(proof.violations.size(), Proof::max_violations);
  for (const ViolationKind kind :
       {ViolationKind::not_held, ViolationKind::never_written, ViolationKind::unmatched, ViolationKind::below_bound}) {
    EXPECT_TRUE(subject.violation(kind).has_value()) << name(kind);
  }
  EXPECT_TRUE(std::is_sorted(proof.violations.begin(), proof.violations.end(),
                             [](const Violation& a, const Violation& b) { return a.kind < b.kind; }));
}

/// One random change to a plan that leaves its boxes sensible and both ends of every message in one step.
void bend(Plan& plan) {
  using generated::number;
  if (plan.transfers.empty()) return;
  const auto any = [&](auto& list) -> auto& { return list[static_cast<std::size_t>(number(0, std::ssize(list) - 1))]; };
  Transfer& transfer = any(plan.transfers);
  switch (number(0, 8)) {
    case 0:
      plan.transfers.erase(plan.transfers.begin() + (&transfer - plan.transfers.data()));
      break;
    case 1:
      plan.transfers.push_back(Transfer(transfer));
      break;
    case 2:
      transfer.from = any(plan.transfers).from;
      break;
    case 3:
      transfer.to = any(plan.transfers).to;
      break;
    case 4:
      transfer.box = any(plan.transfers).box;
      break;
    case 5:
      transfer.send_step = transfer.receive_step = static_cast<std::uint8_t>(number(0, 2));
      break;
    case 6:
      if (!plan.runs.empty()) any(plan.runs).from_offset += number(0, 1) == 0 ? 1 : -1;
      break;
    case 7:
      if (!plan.runs.empty()) any(plan.runs).to_offset += number(0, 1) == 0 ? 1 : -1;
      break;
    case 8:
      std::swap(transfer, any(plan.transfers));
      break;
  }
}

RC_GTEST_PROP(Prover, SaysOfABentPlanWhatRunningItElementByElementShows, ()) {
  const LayoutPair pair = *layout_pairs();
  Plan plan = make_plan(all_planners[generated::number(0, 2)], pair.source, pair.target, pair.topology);
  for (std::int64_t bends = generated::number(1, 3); bends > 0; --bends) bend(plan);
  const Proof proof = prove(plan, pair.source, pair.target, pair.topology);
  const bool right = runs_right(plan, pair.source, pair.target);
  for (const Violation& violation : proof.violations)
    RC_LOG() << name(violation.kind) << ": " << violation.text << "\n";
  RC_ASSERT(proof.holds() == right);
}

}  // namespace
}  // namespace reshardcheck
