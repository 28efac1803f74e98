// The law the whole verifier stands on: with digits, misplacing any one element of any case is always seen.
//
// On small cases of every width, every target element is overwritten with every other value that exists in the case:
// each element of each tensor, of this refit and of earlier ones, padding, the poison of each element; and every pair
// of elements of a rank is exchanged. No such run may pass, and where the value was data its origin must be named.
#include <gtest/gtest.h>

#include "tests/verifier/hand_ranks.h"

namespace reshardcheck {
namespace {

struct Place {
  std::size_t rank;
  std::size_t tensor;
  std::int64_t offset;
  std::int64_t index;
};

std::vector<Place> places_of(HandRanks& ranks) {
  std::vector<Place> places;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t tensor = 0; tensor < ranks.value().tensors.size(); ++tensor) {
      const LocalTensor& local = ranks.target(rank, tensor);
      if (!local.present()) continue;
      HandSubject::for_each_element(ranks.value().tensors[tensor].target, local,
                                    [&](std::int64_t offset, std::int64_t index) {
                                      places.push_back({rank, tensor, offset, index});
                                    });
    }
  }
  return places;
}

/// Runs the rank of a place through all calls with `value_of(call)` in the place; nothing where it says nothing.
template <typename ValueOf>
Verdict with_value(HandRanks& ranks, const Place& place, ValueOf&& value_of) {
  RankCheck& rank = ranks[place.rank];
  ranks.restart();
  const LocalTensor& local = ranks.target(place.rank, place.tensor);
  const int width = width_bytes(ranks.value().tensors[place.tensor].dtype);
  for (int pass = 0; pass < ranks.fill().passes(); ++pass) {
    rank.begin_pass(pass);
    for (int refit = 0; refit < ranks.fill().refits(); ++refit) {
      rank.fill_sources({pass, refit});
      ranks.deliver(place.rank, {pass, refit});
      const std::optional<std::uint64_t> value = value_of(Call{pass, refit});
      if (value) store_element(local.data + place.offset * width, width, *value);
      rank.check({pass, refit});
    }
  }
  return ranks.verdict();
}

class Misplacement : public testing::TestWithParam<const char*> {};

bool same_width(const Case& value, std::size_t a, std::size_t b) {
  return width_bytes(value.tensors[a].dtype) == width_bytes(value.tensors[b].dtype);
}

TEST_P(Misplacement, OfAnyElementByAnyOtherIsSeenAndNamed) {
  HandRanks ranks(parsed_case(GetParam()));
  const Case& value = ranks.value();
  const Fill& fill = ranks.fill();
  for (const Place& place : places_of(ranks)) {
    for (std::size_t tensor = 0; tensor < value.tensors.size(); ++tensor) {
      if (!same_width(value, tensor, place.tensor)) continue;
      for (std::int64_t index = 0; index < elements(value.tensors[tensor].shape()); ++index) {
        if (tensor == place.tensor && index == place.index) continue;
        const Verdict verdict = with_value(ranks, place, [&](Call call) { return fill.value(tensor, index, call); });
        ASSERT_EQ(verdict.kind, VerdictKind::mismatch);
        ASSERT_EQ(verdict.wrong_elements, 1);
        const Origin origin{tensor, global_index_of(value.tensors[tensor].shape(), index), false};
        ASSERT_EQ(verdict.wrong.at(0).origin, origin) << verdict.detail;
      }
    }
  }
}

TEST_P(Misplacement, OfAnyElementByStaleDataIsSeenAndNamed) {
  HandRanks ranks(parsed_case(GetParam()));
  const Case& value = ranks.value();
  const Fill& fill = ranks.fill();
  for (const Place& place : places_of(ranks)) {
    for (std::int64_t index = 0; index < elements(value.tensors[place.tensor].shape()); ++index) {
      for (int late = 1; late < fill.refits(); ++late) {
        for (int early = 0; early < late; ++early) {
          const Verdict verdict = with_value(ranks, place, [&](Call call) -> std::optional<std::uint64_t> {
            if (call.refit != late) return std::nullopt;
            return fill.value(place.tensor, index, {call.pass, early});
          });
          ASSERT_EQ(verdict.kind, VerdictKind::stale) << verdict.detail;
          ASSERT_EQ(verdict.wrong.at(0).origin->index, global_index_of(value.tensors[place.tensor].shape(), index));
        }
      }
    }
  }
}

TEST_P(Misplacement, OfAnyElementByPoisonOrPaddingIsSeen) {
  HandRanks ranks(parsed_case(GetParam()));
  const Case& value = ranks.value();
  const Fill& fill = ranks.fill();
  for (const Place& place : places_of(ranks)) {
    for (std::int64_t index = 0; index < elements(value.tensors[place.tensor].shape()); ++index) {
      const Verdict poison =
          with_value(ranks, place, [&](Call call) { return fill.poison(place.tensor, index, call.pass); });
      ASSERT_EQ(poison.kind, index == place.index ? VerdictKind::unwritten : VerdictKind::mismatch) << poison.detail;
    }
    const Verdict padding = with_value(ranks, place, [&](Call call) { return fill.padding(place.tensor, call); });
    ASSERT_EQ(padding.kind, VerdictKind::mismatch);
    ASSERT_TRUE(padding.wrong.at(0).origin && padding.wrong.at(0).origin->padding) << padding.detail;
  }
}

TEST_P(Misplacement, OfTwoElementsByEachOtherIsSeenAndNamed) {
  HandRanks ranks(parsed_case(GetParam()));
  const std::vector<Place> places = places_of(ranks);
  for (const Place& a : places) {
    for (const Place& b : places) {
      if (a.rank != b.rank || a.tensor != b.tensor || a.offset >= b.offset) continue;
      const int width = width_bytes(ranks.value().tensors[a.tensor].dtype);
      ranks.restart();
      ranks.run([&](Call) {
        std::byte* data = ranks.target(a.rank, a.tensor).data;
        std::swap_ranges(data + a.offset * width, data + (a.offset + 1) * width, data + b.offset * width);
      });
      const Verdict verdict = ranks.verdict();
      ASSERT_EQ(verdict.kind, VerdictKind::mismatch);
      ASSERT_EQ(verdict.wrong_elements, 2);
      ASSERT_EQ(verdict.wrong.at(0).origin->index, verdict.wrong.at(1).global_index);
      ASSERT_EQ(verdict.wrong.at(1).origin->index, verdict.wrong.at(0).global_index);
    }
  }
}

TEST_P(Misplacement, RightDataPass) {
  HandRanks ranks(parsed_case(GetParam()));
  ranks.run([](Call) {});
  EXPECT_EQ(ranks.verdict(), Verdict{});
}

INSTANTIATE_TEST_SUITE_P(
    SmallCases, Misplacement,
    testing::Values("u8[3,4] 2@0 S(0) -> 2@2 S(1)", "u8[13,5] 2@0 S(0) -> 3@2 S(1) | seed=4",
                    "u8[11] 2@0 S(0) -> 2@1 R | refits=3 seed=1", "bf16[5,3] 2@0 R -> 2@0 S(1) | refits=2",
                    "f32[7] 3@0 S(0) -> 2@3 S(0,balanced) | refits=2 seed=77",
                    "f64[2,2,2] 2@0 S(2) -> 2@2 S(1) | refits=2 gap=1", "u8[5] 2@0 S(0,padded) -> 2@2 S(0,pad=4)",
                    "u8[] 1@0 R -> 2@1 R",
                    "u8[6] 2@0 S(0) -> 2@2 R ; i8[3,2] 2@0 S(0) -> 2@2 S(1) ; bf16[4] 1@0 R -> 1@2 R",
                    "bf16[4,2] 2@0 S(0) -> 2@2 S(0) ; f16[4,2] 2@0 S(1) -> 2@2 S(1) | gap=2 refits=2"));

}  // namespace
}  // namespace reshardcheck
