// RankCheck: every kind of damage to a buffer is seen, and named by its verdict, when it is done by hand.
#include "verifier/rank_check.h"

#include <gtest/gtest.h>

#include "tests/verifier/hand_ranks.h"
#include "verifier/provenance.h"

namespace reshardcheck {
namespace {

void flip(std::byte* at) { *at ^= std::byte{0x10}; }

TEST(RankCheck, SeesEveryByteOfEveryBlockThatChanges) {
  HandRanks ranks(parsed_case("bf16[5,3] 2@0 S(0,padded) -> 2@1 S(1,padded) ; u8[3] 1@0 R -> 1@1 R | gap=2"));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t b = 0; b < ranks[rank].buffers().blocks().size(); ++b) {
      const LocalBlock block = ranks[rank].buffers().blocks()[b];
      const std::int64_t footprint = block.footprint_elements * width_bytes(ranks.value().tensors[block.tensor].dtype);
      for (std::int64_t byte = 0; byte < block.block_bytes; ++byte) {
        ranks.restart();
        ranks.run([&](Call call) {
          if (call == Call{1, 0}) flip(ranks[rank].buffers().blocks()[b].block + byte);
        });
        const Verdict verdict = ranks.verdict();
        const bool inside = byte >= guard_bytes && byte < guard_bytes + footprint;
        if (!inside) {
          ASSERT_EQ(verdict.kind, VerdictKind::guard) << byte;
        } else if (block.side == Side::source) {
          ASSERT_EQ(verdict.kind, VerdictKind::source_modified) << byte;
        } else {
          ASSERT_TRUE(verdict.kind == VerdictKind::guard || verdict.kind == VerdictKind::mismatch) << byte;
        }
      }
    }
  }
}

TEST(RankCheck, SaysWhereAGuardByteWasWritten) {
  HandRanks ranks(parsed_case("u8[4] 2@0 S(0) -> 1@2 R"));
  ranks.run([&](Call) { flip(ranks.target(2, 0).data + 4); });
  EXPECT_EQ(ranks.verdict().detail, "rank 2 wrote byte 1 past the end of its local target of tensor 0 in pass 0");
  ranks.restart();
  ranks.run([&](Call) { flip(ranks.source(1, 0).data - 1); });
  EXPECT_EQ(ranks.verdict().detail, "rank 1 wrote byte 1 before the start of its local source of tensor 0 in pass 0");
}

TEST(RankCheck, SeesPaddingThatIsDeliveredOverTargetPadding) {
  HandRanks ranks(parsed_case("u8[3] 2@0 S(0,padded) -> 2@2 S(0,padded)"));
  ranks.run([&](Call call) { store_element(ranks.target(3, 0).data + 1, 1, ranks.fill().padding(0, call)); });
  EXPECT_EQ(ranks.verdict().kind, VerdictKind::guard);
}

TEST(RankCheck, CountsEachWrongElementOnceAndKeepsTheFirstFewInOrder) {
  HandRanks ranks(parsed_case("u8[20,10] 2@0 S(0) -> 2@2 S(1) | refits=2"));
  ranks.run([&](Call call) {
    for (const std::size_t rank : {2u, 3u}) {
      std::byte* data = ranks.target(rank, 0).data;
      if (call.pass % 2 == 0) std::rotate(data, data + 1, data + 100);
    }
  });
  const Verdict verdict = ranks.verdict();
  EXPECT_EQ(verdict.kind, VerdictKind::mismatch);
  EXPECT_EQ(verdict.wrong_elements, 200);
  ASSERT_EQ(verdict.wrong.size(), Verdict::max_wrong);
  for (std::size_t i = 0; i < verdict.wrong.size(); ++i) {
    EXPECT_EQ(verdict.wrong[i].rank, 2);
    EXPECT_EQ(verdict.wrong[i].local_index,
              (Shape{static_cast<std::int64_t>(i) / 5, static_cast<std::int64_t>(i) % 5}));
  }
}

TEST(RankCheck, FindsTheOneMismatchBehindManyUnwrittenElements) {
  HandRanks ranks(parsed_case("u8[500] 1@0 R -> 1@1 R"));
  ranks.run([&](Call call) {
    std::byte* data = ranks.target(1, 0).data;
    ranks.fill().write_poison({0, 0, 499}, call.pass, data);
    store_element(data + 499, 1, ranks.fill().value(0, 7, call));
  });
  const Verdict verdict = ranks.verdict();
  EXPECT_EQ(verdict.kind, VerdictKind::mismatch);
  EXPECT_EQ(verdict.wrong_elements, 500);
  EXPECT_EQ(verdict.detail,
            "rank 1 holds element [7] where element [499] belongs (tensor 0, local [499]); 500 of 500 elements wrong");
}

TEST(RankCheck, NamesUnwrittenStaleAndForeignElements) {
  HandRanks ranks(parsed_case("first = u8[2,4] 2@0 S(0) -> 2@2 S(1) ; second = i8[3] 1@0 R -> 1@3 R | refits=2"));
  const auto damage = [&](auto value_of) {
    ranks.restart();
    ranks.run([&](Call call) {
      if (call.refit == 1) store_element(ranks.target(3, 0).data + 1, 1, value_of(call));
    });
    return ranks.verdict();
  };
  const Fill& fill = ranks.fill();
  EXPECT_EQ(damage([&](Call call) { return fill.poison(0, 3, call.pass); }).detail,
            "rank 3 never received element [0,3] (tensor 0 (first), local [0,1]); 1 of 11 elements wrong");
  EXPECT_EQ(
      damage([&](Call call) {
        return fill.value(0, 3, {call.pass, 0});
      }).detail,
      "rank 3 holds old data (element [0,3] of refit 0) where element [0,3] of refit 1 of pass 0 belongs (tensor 0 "
      "(first), local [0,1]); 1 of 11 elements wrong");
  EXPECT_EQ(damage([&](Call call) { return fill.value(1, 2, call); }).detail,
            "rank 3 holds element [2] of tensor 1 (second) where element [0,3] belongs (tensor 0 (first), local "
            "[0,1]); 1 of 11 "
            "elements wrong");
}

TEST(RankCheck, ChecksThatARefusalTouchesNothing) {
  for (const bool touched : {false, true}) {
    HandRanks ranks(parsed_case("u8[3] 1@0 R -> 1@1 R"));
    for (std::size_t rank = 0; rank < 2; ++rank) {
      ranks[rank].begin_pass(0);
      ranks[rank].fill_sources({0, 0});
    }
    if (touched) flip(ranks.target(1, 0).data);
    ranks[1].check_untouched({0, 0});
    EXPECT_EQ(ranks[1].report().touched, touched);
  }
}

TEST(Provenance, SaysWhichReplicaServedEachElement) {
  HandRanks ranks(parsed_case("u8[4] 2x2@0 R,S(0) -> 2@4 R | fill=provenance domain=2"));
  ranks.run([&](Call call) {
    if (ranks.fill().pass_kind(call.pass) != PassKind::tag) return;
    const std::uint8_t from[2][4] = {{0, 2, 1, 1}, {2, 2, 3, 3}};  // mesh indices of holders
    for (const std::size_t target : {0u, 1u}) {
      for (int i = 0; i < 4; ++i) store_element(ranks.target(4 + target, 0).data + i, 1, from[target][i]);
    }
  });
  EXPECT_EQ(ranks.verdict().kind, VerdictKind::pass) << ranks.verdict().detail;
  std::vector<RankReport> reports{ranks[4].report(), ranks[5].report()};
  const ProvenanceReport merged = merge_provenance(reports, {4, 3});  // ranks 3 to 6 are one domain
  EXPECT_EQ(merged.served, (std::vector<Served>{{0, 0, 4, 1}, {0, 1, 4, 2}, {0, 2, 4, 1}, {0, 2, 5, 2}, {0, 3, 5, 2}}));
  EXPECT_EQ(merged.same_domain_elements, 2);
  EXPECT_EQ(merged.other_domain_elements, 6);
}

TEST(Provenance, SeesATagOfARankThatDoesNotHoldTheElement) {
  HandRanks ranks(parsed_case("u8[4] 2@0 S(0) -> 1@2 R | fill=provenance"));
  ranks.run([&](Call call) {
    if (ranks.fill().pass_kind(call.pass) != PassKind::tag) return;
    for (int i = 0; i < 4; ++i) store_element(ranks.target(2, 0).data + i, 1, i < 1 ? 0 : 1);
  });
  const Verdict verdict = ranks.verdict();
  EXPECT_EQ(verdict.kind, VerdictKind::mismatch);
  EXPECT_EQ(verdict.wrong_elements, 1);
  EXPECT_EQ(verdict.wrong.at(0).global_index, (Shape{1}));
}

}  // namespace
}  // namespace reshardcheck
