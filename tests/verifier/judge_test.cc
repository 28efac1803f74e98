// Judge: which evidence wins, what each verdict says, and that the same evidence always gives the same words.
#include "verifier/judge.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/verifier/hand_ranks.h"

namespace reshardcheck {
namespace {

/// Evidence about a small case of three ranks; rank 3 is idle.
struct HandEvidence {
  Case value = parsed_case("u8[4] 2@0 S(0) -> 1@2 R | world=4 refits=2");
  Fill fill{value};
  std::vector<RankReport> ranks{4};
  Evidence evidence;

  HandEvidence() {
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].rank = static_cast<Rank>(i);
    ranks[3].idle = true;
  }
  Verdict judged() {
    evidence.value = &value;
    evidence.fill = &fill;
    evidence.ranks = ranks;
    return judge(evidence);
  }
};

WrongPlace place_with(const Fill& fill, const std::function<std::uint64_t(int pass)>& got, int refit = 1) {
  WrongPlace place{0, 1, {1}, 1, {0, refit}, fill.value(0, 1, {0, refit}), {}, fill.passes()};
  for (int pass = 0; pass < fill.passes(); ++pass) place.got[static_cast<std::size_t>(pass)] = got(pass);
  return place;
}

void add_place(DataReport& report, WrongPlace place) { note_wrong(report, std::move(place)); }

/// One piece of evidence for each line of the precedence, strongest first.
struct Piece {
  VerdictKind kind;
  std::function<void(HandEvidence&)> put;
};

const std::vector<Piece>& precedence() {
  static const std::vector<Piece> pieces{
      {VerdictKind::crash, [](HandEvidence& hand) { hand.ranks[1].threw = true; }},
      {VerdictKind::hang, [](HandEvidence& hand) { hand.evidence.world.status = CommStatus::deadlock; }},
      {VerdictKind::disagree, [](HandEvidence& hand) { hand.ranks[2].outcome = Outcome::error("bad"); }},
      {VerdictKind::guard,
       [](HandEvidence& hand) {
         hand.ranks[2].stray = StrayWrite{0, Side::target, 4, 4, {}};
       }},
      {VerdictKind::source_modified,
       [](HandEvidence& hand) {
         hand.ranks[0].source_change = SourceChange{0, {1}, {}, 1, 2};
       }},
      {VerdictKind::mismatch,
       [](HandEvidence& hand) {
         add_place(hand.ranks[2].definition, place_with(hand.fill, [&](int pass) {
                     return hand.fill.value(0, 3, {pass, 1});
                   }));
       }},
      {VerdictKind::stale,
       [](HandEvidence& hand) {
         add_place(hand.ranks[2].definition, place_with(hand.fill, [&](int pass) {
                     return hand.fill.value(0, 1, {pass, 0});
                   }));
       }},
      {VerdictKind::unwritten,
       [](HandEvidence& hand) {
         add_place(hand.ranks[2].definition,
                   place_with(hand.fill, [&](int pass) { return hand.fill.poison(0, 1, pass); }));
       }},
      {VerdictKind::error, [](HandEvidence& hand) { hand.ranks[2].naive_disagreement = "the maps differ"; }},
      {VerdictKind::mismatch,
       [](HandEvidence& hand) {
         WrongPlace place{0, 1, {1}, 1, {1, 0}, 3, {}, 0};
         place.got[1] = 4;
         add_place(hand.ranks[2].naive, place);
       }},
      {VerdictKind::mismatch,
       [](HandEvidence& hand) {
         WrongPlace place{0, 1, {1}, 1, {1, 0}, 3, {}, 0};
         place.got[1] = 4;
         add_place(hand.ranks[2].gather_broadcast, place);
       }},
      {VerdictKind::unwritten,
       [](HandEvidence& hand) {
         hand.evidence.plan = PlanViolation{0, {ViolationKind::never_written, "rank 2 never gets [0,1)"}};
       }},
      {VerdictKind::excess_traffic,
       [](HandEvidence& hand) {
         hand.evidence.excess = TrafficExcess{{}, 8, 4};
       }},
  };
  return pieces;
}

TEST(Judge, PassesWithoutEvidence) { EXPECT_EQ(HandEvidence{}.judged(), Verdict{}); }

TEST(Judge, LetsStrongerEvidenceWinOverAllWeaker) {
  for (std::size_t strongest = 0; strongest < precedence().size(); ++strongest) {
    HandEvidence alone;
    precedence()[strongest].put(alone);
    const Verdict verdict = alone.judged();
    EXPECT_EQ(verdict.kind, precedence()[strongest].kind) << strongest;
    EXPECT_FALSE(verdict.detail.empty());
    for (std::size_t weaker = strongest + 1; weaker < precedence().size(); ++weaker) {
      HandEvidence both;
      precedence()[strongest].put(both);
      precedence()[weaker].put(both);
      EXPECT_EQ(both.judged().kind, verdict.kind) << strongest << " with " << weaker;
      EXPECT_EQ(both.judged().oracle, verdict.oracle) << strongest << " with " << weaker;
    }
  }
}

TEST(Judge, GivesTheSameWordsForTheSameEvidence) {
  for (const Piece& piece : precedence()) {
    HandEvidence first;
    HandEvidence second;
    piece.put(first);
    piece.put(second);
    EXPECT_EQ(first.judged(), second.judged());
  }
}

TEST(Judge, CallsAnErrorOfAllRanksThatTakePartAnError) {
  HandEvidence hand;
  for (std::size_t i = 0; i < 3; ++i) hand.ranks[i].outcome = Outcome::error("no such layout");
  EXPECT_EQ(hand.judged().kind, VerdictKind::error);
  EXPECT_EQ(hand.judged().detail, "rank 0 and 2 more report an error in refit 0 of pass 0: no such layout");
}

TEST(Judge, CallsAnErrorOfSomeRanksDisagreement) {
  HandEvidence hand;
  hand.ranks[1].outcome = Outcome::error("no such layout");
  EXPECT_EQ(hand.judged().kind, VerdictKind::disagree);
  EXPECT_EQ(hand.judged().detail, "rank 1 reports an error in refit 0 of pass 0 (no such layout), rank 0 does not");
}

TEST(Judge, CallsAnErrorThatADeadlockCausedAHang) {
  HandEvidence hand;
  hand.ranks[1].outcome = Outcome::error("wait failed", CommStatus::deadlock);
  EXPECT_EQ(hand.judged().kind, VerdictKind::hang);
}

TEST(Judge, RepeatsWhoWaitsForWhom) {
  HandEvidence hand;
  hand.evidence.world.status = CommStatus::deadlock;
  hand.evidence.world.stuck = "rank 0 waits for a message from rank 1; rank 1 waits for a message from rank 0";
  EXPECT_NE(hand.judged().detail.find(hand.evidence.world.stuck), std::string::npos);
}

TEST(Judge, CallsALeftOverMessageAHangUnlessFaultsExplainIt) {
  HandEvidence hand;
  hand.evidence.world.unreceived_messages = 1;
  EXPECT_EQ(hand.judged().kind, VerdictKind::hang);
  hand.value.options.faults.push_back({FaultKind::duplicate, 0, 0});
  EXPECT_EQ(hand.judged().kind, VerdictKind::pass);
}

TEST(Judge, CallsAKilledRankACrash) {
  HandEvidence hand;
  hand.ranks[1].outcome = Outcome::error("killed", CommStatus::killed);
  hand.ranks[2].outcome = Outcome::error("peer lost", CommStatus::peer_lost);
  hand.evidence.world.status = CommStatus::peer_lost;
  EXPECT_EQ(hand.judged().kind, VerdictKind::crash);
}

TEST(Judge, TellsADeclaredRefusalFromOneOfAValidCase) {
  HandEvidence hand;
  for (RankReport& rank : hand.ranks) rank.outcome = Outcome::unsupported("no cuts");
  EXPECT_EQ(hand.judged().kind, VerdictKind::valid_rejected);
  hand.evidence.declared_unsupported = true;
  EXPECT_EQ(hand.judged().kind, VerdictKind::unsupported);
  EXPECT_EQ(hand.judged().detail, "no cuts");
  hand.ranks[2].touched = true;
  EXPECT_EQ(hand.judged().kind, VerdictKind::mismatch);
}

TEST(Judge, CallsARefusalByOneRankADisagreement) {
  HandEvidence hand;
  hand.evidence.declared_unsupported = true;
  hand.ranks[1].outcome = Outcome::unsupported("not me");
  EXPECT_EQ(hand.judged().kind, VerdictKind::disagree);
}

TEST(Judge, MapsViolationsOfThePlan) {
  for (const auto& [violation, kind] : {std::pair{ViolationKind::not_held, VerdictKind::mismatch},
                                        {ViolationKind::misplaced, VerdictKind::mismatch},
                                        {ViolationKind::written_twice, VerdictKind::mismatch},
                                        {ViolationKind::bad_transfer, VerdictKind::mismatch},
                                        {ViolationKind::below_bound, VerdictKind::mismatch},
                                        {ViolationKind::never_written, VerdictKind::unwritten},
                                        {ViolationKind::unmatched, VerdictKind::hang},
                                        {ViolationKind::cyclic_wait, VerdictKind::hang}}) {
    HandEvidence hand;
    hand.evidence.plan = PlanViolation{0, {violation, "why"}};
    EXPECT_EQ(hand.judged().kind, kind);
    EXPECT_EQ(hand.judged().oracle, "prover");
  }
}

TEST(Classify, CallsDataOfAnotherCallStaleWhereOnlyOnePassHoldsIt) {
  HandEvidence hand;
  const WrongPlace place = place_with(hand.fill, [&](int pass) {
    return hand.fill.value(0, 1, pass == 1 ? Call{0, 1} : Call{pass, 1});  // pass 1 got what pass 0 had delivered
  });
  EXPECT_EQ(classify(hand.value, hand.fill, place).kind, VerdictKind::stale);
}

TEST(Classify, CallsABitFlipAMismatchOfNobodysData) {
  HandEvidence hand;
  const WrongPlace place = place_with(hand.fill, [&](int pass) {
    return hand.fill.value(0, 1, {pass, 1}) ^ (pass == 0 ? 1u : 0u);  // the bit that data never have
  });
  const PlaceFinding finding = classify(hand.value, hand.fill, place);
  EXPECT_EQ(finding.kind, VerdictKind::mismatch);
  EXPECT_FALSE(finding.origin);
}

TEST(Judge, BelievesTheFingerprintWhenNothingElseWasFound) {
  HandEvidence hand;
  hand.evidence.fingerprint = "the targets hold other bits";
  EXPECT_EQ(hand.judged().kind, VerdictKind::mismatch);
  EXPECT_EQ(hand.judged().oracle, "fingerprint");
  hand.ranks[1].threw = true;
  EXPECT_EQ(hand.judged().kind, VerdictKind::crash);
}

TEST(Judge, CallsProcessesThatPlannedDifferentThingsADisagreement) {
  HandEvidence hand;
  hand.evidence.disagreement = "processes 0 and 1 made different plans";
  EXPECT_EQ(hand.judged().kind, VerdictKind::disagree);
}

}  // namespace
}  // namespace reshardcheck
