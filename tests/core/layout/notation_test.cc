// Goal: text and value are two faces of one case, and text has one canonical form.
// Method: round trips over random cases of everything a case can hold; the documented lines are pinned.
#include "core/layout/notation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "tests/support/arbitrary_layout.h"

namespace reshardcheck {
namespace {

Case must_parse(std::string_view text) {
  Result<Case> parsed = parse_case(text);
  EXPECT_TRUE(parsed.ok()) << text << "\n" << (parsed.ok() ? "" : explain_error(text, parsed.error()));
  return *std::move(parsed);
}

std::string canonical(std::string_view text) { return to_text(must_parse(text)); }

RC_GTEST_PROP(NotationLaws, AValueComesBackFromItsText, ()) {
  const Case value = *arbitrary::case_value();
  RC_ASSERT(validate(value).ok());
  const Result<Case> back = parse_case(to_text(value));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == value);
}

RC_GTEST_PROP(NotationLaws, CanonicalTextIsAFixpoint, ()) {
  const std::string text = to_text(*arbitrary::case_value());
  RC_ASSERT(to_text(*parse_case(text)) == text);
}

RC_GTEST_PROP(NotationLaws, SpacesBetweenTokensMeanNothing, ()) {
  const std::string text = to_text(*arbitrary::case_value());
  const std::size_t options = text.find(" | ");
  const std::string tokens = "[],;=@{}()|";
  std::string spaced = " ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool token = i < options && tokens.find(text[i]) != std::string::npos;
    if (token) spaced += *rc::gen::element<std::string>("", " ", "\t ");
    spaced += text[i];
    if (token) spaced += *rc::gen::element<std::string>("", " ", " \t");
  }
  const Result<Case> parsed = parse_case(spaced + " \r\n");
  RC_ASSERT(parsed.ok());
  RC_ASSERT(to_text(*parsed) == text);
}

RC_GTEST_PROP(NotationLaws, DamagedTextIsAnErrorWithAPositionOrAnotherValidCase, ()) {
  std::string text = to_text(*arbitrary::case_value());
  const std::int64_t edits = *arbitrary::integer(1, 3);
  for (std::int64_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = static_cast<std::size_t>(*arbitrary::integer(0, std::ssize(text) - 1));
    const char byte = *rc::gen::weightedOneOf<char>(
        {{3, rc::gen::element('0', '9', ',', '(', ')', '|', '=', ' ', 'R', 'S', '-', '@', ';')},
         {1, rc::gen::arbitrary<char>()}});
    switch (*arbitrary::integer(0, 2)) {
      case 0:
        text.erase(at, 1);
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      default:
        text[at] = byte;
        break;
    }
  }
  const Result<Case> parsed = parse_case(text);
  if (parsed) {
    const std::string again = to_text(*parsed);
    RC_ASSERT(*parse_case(again) == *parsed);
  } else {
    RC_ASSERT(parsed.error().has_position());
    RC_ASSERT(parsed.error().position <= text.size());
    RC_ASSERT(!parsed.error().reason.empty());
    for (const char c : parsed.error().reason) RC_ASSERT((c >= ' ' && c <= '~'));
  }
}

TEST(Notation, DocumentedLinesAreCanonical) {
  for (const std::string_view text :
       {"bf16[8,8] 2@0 S(0) -> 4@2 S(1)", "f32[5,3] 2x2@0 S(0),S(0) -> 2x2@4 R,R",
        "u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R via gather_broadcast",
        "gate = bf16[28,8] 2@0 S(0) -> 4@2 S(0) ; qkv = bf16[10,8] 2@0 S(0,segments=6|2|2) -> 4@2 R via "
        "gather_broadcast | domain=2 seed=7",
        "f64[] 1@0 R -> 1@1 R", "u8[0,3] 2@0 S(0) -> 2@0 S(1)",
        "u8[9] 3@0 S(0,cuts=5|0|4) -> 2@3 S(0,pad=8) | world=9 domain=4@1 fill=provenance seed=18446744073709551615 "
        "refits=3 chunk=16 gap=2 batch=1 faults=drop@3+kill@2.1"}) {
    EXPECT_EQ(canonical(text), text);
  }
}

TEST(Notation, DefaultsAndLongFormsBecomeShort) {
  EXPECT_EQ(canonical("u8[4] 2{3,4} S(0,chunk) -> 1{0} R via reshard | seed=0 fill=digits domain=2@0 refits=1 world=0"),
            "u8[4] 2@3 S(0) -> 1@0 R | domain=2");
  EXPECT_EQ(canonical("u8[4] 2@0 S(0,pad=1) -> 1@0 R"), "u8[4] 2@0 S(0,padded) -> 1@0 R");
  EXPECT_EQ(canonical("u8[4] 2@0 S(0) -> 1@0 R |"), "u8[4] 2@0 S(0) -> 1@0 R");
  EXPECT_EQ(canonical("u8[04] 2@0 S(00)->1@0 R"), "u8[4] 2@0 S(0) -> 1@0 R");
  EXPECT_EQ(canonical("u8[4] 2@0 S(0) -> 1@0 R | seed=9 domain=2"), "u8[4] 2@0 S(0) -> 1@0 R | domain=2 seed=9");
}

TEST(Notation, AWorldIsTheLargestRankNamedOrWhatTheOptionsSay) {
  EXPECT_EQ(must_parse("u8[4] 2{9,1} S(0) -> 1@0 R").world_ranks(), 10);
  EXPECT_EQ(must_parse("u8[4] 2@0 S(0) -> 1@0 R | world=12").world_ranks(), 12);
}

TEST(Notation, EqualSidesOfAMixShareOneLayout) {
  const Case value =
      must_parse("a = u8[8] 2@0 S(0) -> 2@0 S(0) ; b = i8[8] 2@0 S(0) -> 2@0 S(0) ; u8[9] 2@0 S(0) -> 2@0 R");
  const auto table = [](const Layout& layout) { return layout.pieces(0).data(); };
  EXPECT_EQ(table(value.tensors[0].source), table(value.tensors[1].target));
  EXPECT_NE(table(value.tensors[0].source), table(value.tensors[2].source));
}

TEST(Notation, HandBuiltCasesAreHeldToWhatTextCanSay) {
  const Case good = must_parse("u8[4] 2@0 S(0) -> 1@0 R");
  const auto with = [&](auto change) {
    Case value = good;
    change(value);
    return validate(value).ok();
  };
  EXPECT_TRUE(with([](Case&) {}));
  EXPECT_FALSE(with([](Case& value) { value.tensors.clear(); }));
  EXPECT_FALSE(with([](Case& value) { value.tensors[0].name = "two words"; }));
  EXPECT_FALSE(with([](Case& value) { value.tensors[0].name = "1st"; }));
  EXPECT_FALSE(with([](Case& value) { value.tensors[0].name = std::string(257, 'a'); }));
  EXPECT_FALSE(
      with([](Case& value) { value.tensors[0].target = must_parse("u8[5] 1@0 R -> 1@0 R").tensors[0].target; }));
  EXPECT_FALSE(with([](Case& value) { value.options.world_ranks = 1; }));
  EXPECT_FALSE(with([](Case& value) { value.options.refits = 0; }));
  EXPECT_FALSE(with([](Case& value) { value.options.chunk_bytes = -1; }));
  EXPECT_FALSE(with([](Case& value) { value.options.domain_anchor = 1; }));
  EXPECT_FALSE(with([](Case& value) { value.options.faults.resize(17); }));
}

TEST(ExplainError, PutsACaretUnderTheByteAtFault) {
  const std::string_view text = "u8[4] 2@0 S(7) -> 1@0 R";
  EXPECT_EQ(explain_error(text, parse_case(text).error()),
            "dim 7 does not exist: the tensor has 1 dims (at column 11)\n"
            "  u8[4] 2@0 S(7) -> 1@0 R\n"
            "            ^");
}

}  // namespace
}  // namespace reshardcheck
