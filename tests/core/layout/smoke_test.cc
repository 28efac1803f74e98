#include <gtest/gtest.h>

#include "core/layout/json.h"
#include "core/layout/notation.h"
#include <nlohmann/json.hpp>
using namespace reshardcheck;
TEST(Notation, Smoke) {
  for (std::string_view text : {"bf16[8,8] 2@0 S(0) -> 4@2 S(1)", "f32[5,3] 2x2@0 S(0),S(0) -> 2x2@4 R,R", "u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R via gather_broadcast",
    "gate = bf16[28,8] 2@0 S(0) -> 4@2 S(0) ; qkv = bf16[10,8] 2@0 S(0,segments=6|2|2) -> 4@2 R via gather_broadcast | domain=2 seed=7"}) {
    auto c = parse_case(text);
    ASSERT_TRUE(c.ok()) << explain_error(text, c.error());
    EXPECT_EQ(to_text(*c), text);
    auto j = case_from_json(to_json(*c));
    ASSERT_TRUE(j.ok()) << j.error().reason;
    EXPECT_EQ(*j, *c);
  }
}
