// A property over a function of one's own, in ten lines: the shard that a rank owns has the size that we compute.
//
// `our_rows` cuts rows evenly and gives the remainder to nobody, as much code does. The property finds the smallest
// layout on which that differs from what the layout says. (The test is about the harness: it expects the finding.)
#include "fuzz/gtest.h"

#include "core/layout/notation.h"

namespace {

using reshardcheck::Case;

std::int64_t our_rows(std::int64_t rows, std::int64_t ranks) { return rows / ranks; }

reshardcheck::PropertyOptions one_axis() {
  reshardcheck::PropertyOptions options;
  options.generator.rules = {reshardcheck::SplitRule::chunk};
  options.generator.max_axes = 1;
  options.generator.mixes = 0;
  return options;
}

std::optional<std::string> first_rank_has_our_rows(const Case& value) {
  const reshardcheck::Layout& source = value.tensors.front().source;
  if (source.dims() == 0 || source.placements().front().dim != 0) return std::nullopt;
  const std::int64_t ours = our_rows(source.shape()[0], static_cast<std::int64_t>(source.mesh().size()));
  if (source.local_shape(0)[0] == ours) return std::nullopt;
  return "we say " + std::to_string(ours) + " rows, the layout " + std::to_string(source.local_shape(0)[0]);
}

TEST(OurRows, DifferFromTheLayoutOnASmallestCase) {
  const auto failure = reshardcheck::find_counterexample(first_rank_has_our_rows, one_axis());
  ASSERT_TRUE(failure);
  EXPECT_EQ(to_text(failure->minimal), "u8[1] 2@0 S(0) -> 1@2 R");
  EXPECT_FALSE(reshardcheck::holds_for_cases(first_rank_has_our_rows, one_axis()));
}

TEST(Shards, NeverExceedTheTensor) {
  EXPECT_TRUE(reshardcheck::holds_for_cases([](const Case& value) -> std::optional<std::string> {
    const reshardcheck::Layout& target = value.tensors.front().target;
    if (target.owned_elements(0) <= reshardcheck::elements(target.shape())) return std::nullopt;
    return "rank 0 owns more than there is";
  }));
}

}  // namespace
