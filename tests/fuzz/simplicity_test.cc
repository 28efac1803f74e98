// Goal: the order of the shrinker is total, and says what a person would about pairs of cases.
#include "fuzz/simplicity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/layout/notation.h"
#include "fuzz/generator.h"

namespace reshardcheck {
namespace {

Case simple_case(std::string_view text) {
  const Result<Case> value = parse_case(text);
  EXPECT_TRUE(value.ok()) << text;
  return *value;
}

TEST(Simplicity, PrefersWhatAPersonWould) {
  const std::pair<std::string_view, std::string_view> simpler_first[] = {
      {"u8[2] 2@0 S(0) -> 1@2 R", "u8[] 1@0 R -> 1@1 R ; u8[] 1@0 R -> 1@1 R"},  // one tensor
      {"u8[9] 8@0 S(0) -> 9@8 S(0)", "u8[] 1@0 R -> 1@1 R | refits=2"},          // no options
      {"u8[9] 8@0 S(0) -> 9@8 S(0)", "u8[2] 2@0 S(0,balanced) -> 1@2 R"},        // no special rule
      {"u8[9] 8@0 S(0) -> 9@8 S(0)", "u8[] 1@1 R -> 1@0 R"},                     // ranks at home
      {"u8[2] 2{1,0} S(0) -> 1@2 R", "u8[2] 2{2,0} S(0) -> 1@3 R"},              // permuted rather than with gaps
      {"u8[9] 1@0 R -> 1@1 R", "u8[] 1@0 R -> 2@1 R"},                           // fewer ranks
      {"u8[9] 4@0 S(0) -> 1@4 R", "u8[2] 2x2@0 S(0),R -> 1@4 R"},                // fewer axes
      {"u8[2,2] 2@0 R -> 1@2 R", "u8[2] 2@0 S(0) -> 1@2 R"},                     // fewer axes that shard
      {"u8[5] 2@0 S(0) -> 1@2 R", "u8[1,1] 2@0 S(0) -> 1@2 R"},                  // fewer dims
      {"u8[2] 2@0 S(0) -> 2@2 R", "u8[3] 2@0 S(0) -> 2@2 R"},                    // fewer elements
      {"u8[9] 2@0 S(0) -> 2@2 R", "u8[1] 2@0 R -> 2@2 S(0)"},                    // a cut source rather than a target
      {"u8[1] 1@0 R -> 1@1 R", "u8[0] 1@0 R -> 1@1 R"},                          // elements rather than none
      {"u8[] 1@0 R -> 1@1 R", "u16[] 1@0 R -> 1@1 R"},
  };
  for (const auto& [a, b] : simpler_first) {
    EXPECT_TRUE(simpler(simple_case(a), simple_case(b))) << a << "  should be simpler than  " << b;
    EXPECT_FALSE(simpler(simple_case(b), simple_case(a))) << b;
  }
}

TEST(Simplicity, HasOneSimplestCase) {
  RandomChoices choices{rc::Random(1)};
  const Case simplest = simple_case("u8[] 1@0 R -> 1@1 R");
  for (int i = 0; i < 500; ++i) {
    const Case value = generate_case(choices, {});
    EXPECT_TRUE(value == simplest || simpler(simplest, value)) << to_text(value);
  }
}

RC_GTEST_PROP(Simplicity, IsATotalOrder, (std::uint64_t seed)) {
  RandomChoices choices{rc::Random(seed)};
  const Case a = generate_case(choices, {});
  const Case b = generate_case(choices, {});
  const Case c = generate_case(choices, {});
  RC_ASSERT(!simpler(a, a));
  RC_ASSERT(a == b || simpler(a, b) != simpler(b, a));
  if (simpler(a, b) && simpler(b, c)) RC_ASSERT(simpler(a, c));
}

}  // namespace
}  // namespace reshardcheck
