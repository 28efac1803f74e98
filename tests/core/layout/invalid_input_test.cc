// Goal: text that is no valid case gives the position and the reason, and costs no memory.
// Method: a table with one line for every kind of fault; each names the column (from 1) and words of the reason. The
// program counts what operator new hands out, so that hostile sizes are seen to allocate next to nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>

#include "core/layout/limits.h"
#include "core/layout/notation.h"

namespace {

std::size_t allocated_bytes = 0;  // by this program so far; the tests run in one thread

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocated_bytes += bytes;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace reshardcheck {
namespace {

struct Fault {
  std::string text;
  std::size_t column;  // from 1
  std::string reason;  // part of it
};

const Fault faults[] = {
    // The tensor.
    {"", 1, "expected a tensor"},
    {"# comment", 1, "expected a tensor"},
    {"bf17[8,8] 2@0 S(0) -> 4@2 S(1)", 1, "unknown dtype 'bf17'"},
    {"x = bf17[8] 2@0 R -> 2@0 R", 5, "unknown dtype"},
    {"= u8[8] 2@0 R -> 2@0 R", 1, "name"},
    {"2x = u8[8] 2@0 R -> 2@0 R", 1, "starts with a letter"},
    {std::string(300, 'n') + " = u8[8] 2@0 R -> 2@0 R", 1, "more than 256 bytes"},
    {"u8 2@0 R -> 2@0 R", 4, "'[' and the shape"},
    {"u8[8,-8] 2@0 R -> 2@0 R", 6, "expected an extent, found '-'"},
    {"u8[8", 5, "found the end"},
    {"u8[1,1,1,1,1,1,1,1,1] 2@0 R -> 2@0 R", 20, "more than 8 dims"},
    {"u8[9223372036854775808] 2@0 R -> 2@0 R", 4, "does not fit 64 bits"},
    {"u8[9223372036854775807,9223372036854775807] 2@0 R -> 2@0 R", 3, "elements overflows"},
    {"u8[4294967296,4294967296,0] 2@0 R -> 2@0 R", 3, "elements overflows"},
    {"f64[2305843009213693952] 2@0 R -> 2@0 R", 4, "bytes overflows"},
    {"u8[9223372036854775807] 1@0 R -> 1@0 R ; u8[1] 1@0 R -> 1@0 R", 62, "bytes overflows"},
    {"u8[8] 2@0 R -> 2@0 R ;", 23, "expected a tensor"},
    {"u8[8] 2@0 R -> 2@0 R u8[8]", 22, "expected ';' and a tensor"},
    // The mesh.
    {"u8[8] 2@0 S(0) ->", 18, "expected a mesh extent, found the end"},
    {"u8[8] 2@0 S(0) > 4@2 S(0)", 16, "'->' and the target side"},
    {"u8[8] 0@0 S(0) -> 4@2 S(0)", 7, "extents start at 1"},
    {"u8[8] 2 S(0) -> 4@2 S(0)", 9, "'@' and the first rank"},
    {"u8[8] 2x@0 S(0) -> 4@2 S(0)", 9, "a mesh extent"},
    {"u8[8] 2{0,0} S(0) -> 4@2 S(0)", 7, "rank 0 is listed twice"},
    {"u8[8] 3{5,1,5} S(0) -> 4@2 S(0)", 7, "rank 5 is listed twice"},
    {"u8[8] 2{0} S(0) -> 4@2 S(0)", 7, "2 places but 1 ranks"},
    {"u8[8] 2{} S(0) -> 4@2 S(0)", 9, "expected a rank"},
    {"u8[8] 2{0,65536} S(0) -> 4@2 S(0)", 11, "outside 0..65535"},
    {"u8[8] 2@65535 S(0) -> 4@2 S(0)", 7, "outside 0..65535"},
    {"u8[8] 2@4294967295 S(0) -> 4@2 S(0)", 7, "outside 0..65535"},
    {"u8[8] 99999999999@0 S(0) -> 4@2 S(0)", 7, "more than 65536 ranks"},
    {"u8[8] 100000x100000@0 S(0),S(0) -> 4@2 S(0)", 7, "more than 65536 ranks"},
    {"u8[8] 99999999999999999999@0 S(0) -> 4@2 S(0)", 7, "does not fit 64 bits"},
    {"u8[8] 1x1x1x1x1x1x1x1x1@0 R -> 4@2 S(0)", 23, "more than 8 axes"},
    // The placements.
    {"u8[8] 2@0 -> 4@2 S(0)", 11, "expected a placement"},
    {"u8[8] 2@0 T -> 4@2 S(0)", 11, "expected a placement"},
    {"u8[8] 2@0 S -> 4@2 S(0)", 13, "'('"},
    {"u8[8] 2@0 S() -> 4@2 S(0)", 13, "expected a dim"},
    {"u8[8] 2@0 S(0 -> 4@2 S(0)", 15, "')'"},
    {"u8[8] 2@0 S(1) -> 4@2 S(0)", 11, "dim 1 does not exist"},
    {"u8[8] 2@0 S(0) -> 4@2 S(99999999999)", 23, "does not exist"},
    {"u8[] 2@0 S(0) -> 4@2 R", 10, "dim 0 does not exist"},
    {"u8[8] 2@0 S(0),R -> 4@2 S(0)", 11, "2 placements for a mesh of 1 axes"},
    {"u8[8] 2@0 S(0) -> 2x2@2 S(0)", 25, "1 placements for a mesh of 2 axes"},
    // The rules.
    {"u8[8] 2@0 S(0,chonk) -> 4@2 S(0)", 15, "unknown rule 'chonk'"},
    {"u8[7] 2@0 R -> 2@2 S(0,even)", 20, "7 does not divide by 2"},
    {"u8[6] 2x2@0 S(0,even),S(0,even) -> 1@0 R", 23, "3 does not divide by 2"},
    {"u8[8] 2@0 S(0,cuts=3|4) -> 4@2 S(0)", 11, "sum to 7"},
    {"u8[8] 2@0 S(0,cuts=8) -> 4@2 S(0)", 11, "1 sizes for an axis of 2"},
    {"u8[8] 2x2@0 S(0,cuts=4|4),S(0) -> 4@2 S(0)", 13, "only axis"},
    {"u8[8] 2x2@0 S(0),S(0,cuts=4|4) -> 4@2 S(0)", 18, "only axis"},
    {"u8[8] 2@0 S(0,cuts=) -> 4@2 S(0)", 20, "expected a size"},
    {"u8[8] 2@0 S(0,segments=3|4) -> 4@2 S(0)", 11, "sum to 7"},
    {"u8[8] 2@0 S(0,segments=9223372036854775807|9) -> 4@2 S(0)", 11, "bad size"},
    {"u8[8] 2@0 S(0,pad=0) -> 4@2 S(0)", 11, "starts at 1"},
    {"u8[8] 2@0 S(0,pad) -> 4@2 S(0)", 18, "'='"},
    {"u8[8] 2@0 S(0,pad=9223372036854775807) -> 4@2 S(0)", 11, "padded extent overflows"},
    {"u8[8,8] 2x2@0 S(0,pad=4611686018427387904),S(1,pad=8589934592) -> 4@2 R", 15, "overflows 64 bits"},
    {"u8[8] 2@0 _S(0,0) -> 4@2 S(0)", 11, "split factor 0"},
    {"u8[8] 2@0 _S(0,1048577) -> 4@2 S(0)", 11, "split factor 1048577"},
    {"u8[8] 2@0 _S(0) -> 4@2 S(0)", 15, "split factor"},
    {"u8[8] 2x2@0 S(0),S(0,balanced) -> 4@2 S(0)", 13, "does not mix"},
    {"u8[9000000000] 32768x2@0 S(0),_S(0,1048576) -> 1@0 R", 31, "more than 4194304 intervals"},
    // The path and the options.
    {"u8[8] 2@0 R -> 4@2 R via carrier_pigeon", 26, "unknown path 'carrier_pigeon'"},
    {"u8[8] 2@0 R -> 4@2 R via", 25, "unknown path"},
    {"u8[8] 2@0 R -> 4@2 R | color=red", 24, "unknown option 'color'"},
    {"u8[8] 2@0 R -> 4@2 R | seed=1 domain", 31, "needs a value"},
    {"u8[8] 2@0 R -> 4@2 R | domain=0", 24, "option domain"},
    {"u8[8] 2@0 R -> 4@2 R | domain=2@", 24, "option domain"},
    {"u8[8] 2@0 R -> 4@2 R | seed=-1", 24, "option seed"},
    {"u8[8] 2@0 R -> 4@2 R | seed=18446744073709551616", 24, "option seed"},
    {"u8[8] 2@0 R -> 4@2 R | fill=zeros", 24, "option fill"},
    {"u8[8] 2@0 R -> 4@2 R | faults=drop", 24, "option faults"},
    {"u8[8] 2@0 R -> 4@2 R | faults=drop@1+", 24, "option faults"},
    {"u8[8] 2@0 R -> 4@2 R | world=5", 24, "rank 5 is outside the world of 5"},
    {"u8[8] 2@0 R -> 4@2 R | world=65537", 24, "world=65537"},
    {"u8[8] 2@0 R -> 4@2 R | refits=0", 24, "at least one refit"},
    {"u8[8] 2@0 R -> 4@2 R | refits=65", 24, "refits=65"},
    {"u8[8] 2@0 R -> 4@2 R | gap=1025", 24, "gap=1025"},
};

std::string repeated(const std::string& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST(InvalidInput, GivesThePositionAndTheReason) {
  for (const Fault& fault : faults) {
    const Result<Case> parsed = parse_case(fault.text);
    ASSERT_FALSE(parsed.ok()) << fault.text;
    EXPECT_EQ(parsed.error().position + 1, fault.column) << fault.text << "\n" << parsed.error().reason;
    EXPECT_NE(parsed.error().reason.find(fault.reason), std::string::npos) << fault.text << "\n"
                                                                           << parsed.error().reason;
  }
}

TEST(InvalidInput, CostsNoMemoryWhateverNumbersItHolds) {
  for (const Fault& fault : faults) {
    const std::size_t before = allocated_bytes;
    EXPECT_FALSE(parse_case(fault.text).ok());
    const std::size_t bound = fault.text.find("32768") == std::string::npos ? 64 << 10 : 64 << 20;  // one large mesh
    EXPECT_LT(allocated_bytes - before, bound) << fault.text;
  }
}

TEST(InvalidInput, ReasonsAreShortAndPrintableHoweverLongTheWord) {
  const std::string tensor = "u8[8] 2@0 R -> 4@2 R ";
  for (const std::string& text :
       {std::string(100'000, 'z') + "[8] 2@0 R -> 4@2 R", tensor + "via " + std::string(100'000, 'z'),
        tensor + "| " + std::string(100'000, '\x1b') + "=1", tensor + "| " + std::string(9, '\n') + "x",
        tensor + "| seed=" + std::string(100'000, '9'), std::string("u8[8]\n\0\xff", 8)}) {
    const Result<Case> parsed = parse_case(text);
    ASSERT_FALSE(parsed.ok());
    EXPECT_LT(parsed.error().reason.size(), 250u);
    for (const char c : parsed.error().reason) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
    EXPECT_LT(explain_error(text, parsed.error()).size(), 500u);
  }
}

TEST(Limits, BoundTheWorkOfOneSplit) {
  const std::string ones = "1" + repeated("|1", 65'535);
  const std::size_t before = allocated_bytes;
  const Result<Case> parsed = parse_case("u8[65536] 65536@0 S(0,segments=" + ones + ") -> 1@0 R");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().reason.find("intervals"), std::string::npos) << parsed.error().reason;
  EXPECT_LT(allocated_bytes - before, 8u << 20);
  EXPECT_FALSE(parse_case("u8[131072] 2@0 S(0,segments=" + ones + "|1) -> 1@0 R").ok());  // one size too many
}

TEST(Limits, BoundTheLayoutsOfAWholeCase) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "u8[" + std::to_string(i) + "] 65536@0 S(0) -> 1@0 R ; ";
  }
  const Result<Case> parsed = parse_case(text + "u8[1] 1@0 R -> 1@0 R");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().reason.find("entries"), std::string::npos) << parsed.error().reason;
}

TEST(Limits, LeaveRoomForAMixOfManyTensorsOfFewGeometries) {
  const std::string text =
      repeated("bf16[2048,768] 64x32@0 S(0),R -> 2048@2048 S(1) ; ", 20'000) + "u8[1] 1@0 R -> 1@0 R";
  const Result<Case> parsed = parse_case(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().reason;
  EXPECT_EQ(parsed->tensors.size(), 20'001u);
}

TEST(Limits, TextLongerThanTheLimitIsNotRead) {
  const Result<Case> parsed = parse_case(std::string(static_cast<std::size_t>(limits::max_text_bytes) + 1, ' '));
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().reason.find("at most"), std::string::npos);
}

}  // namespace
}  // namespace reshardcheck
