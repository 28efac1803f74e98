// Fills: every (refit, element), padding and poison are told apart by the values of all digit passes, at any width.
#include "verifier/fill.h"

#include <gtest/gtest.h>

#include <set>

#include "core/layout/notation.h"
#include "verifier/element_bits.h"
#include "verifier/special_values.h"

namespace reshardcheck {
namespace {

Case parsed(std::string_view text) {
  Result<Case> value = parse_case(text);
  EXPECT_TRUE(value.ok()) << explain_error(text, value.ok() ? Error{} : value.error());
  return *value;
}

/// What a place gets over all digit passes.
template <typename ValueOf>
std::vector<std::uint64_t> over_digit_passes(const Fill& fill, ValueOf&& value_of) {
  std::vector<std::uint64_t> values;
  for (int pass = 0; pass < fill.passes() && fill.pass_kind(pass) == PassKind::digit; ++pass)
    values.push_back(value_of(pass));
  return values;
}

class FillOfEveryWidth : public testing::TestWithParam<std::string> {};

std::vector<std::string> cases_of_every_width() {
  std::vector<std::string> cases;
  for (const std::string dtype : {"u8", "bf16", "f32", "i64"}) {
    for (const std::string rest : {"[1]", "[7]", "[126]", "[127]", "[128]", "[300]", "[40,30]"}) {
      for (const std::string refits : {"", " | refits=2", " | refits=5 seed=9"}) {
        cases.push_back(dtype + rest + " 1@0 R -> 1@1 R ; " + dtype + "[3] 1@0 R -> 1@1 R" + refits);
      }
    }
  }
  cases.push_back("u8[70000] 1@0 R -> 1@1 R");
  return cases;
}

TEST_P(FillOfEveryWidth, GivesEveryElementRefitPaddingAndPoisonAValueOfItsOwn) {
  const Case value = parsed(GetParam());
  const Fill fill(value);
  std::set<std::vector<std::uint64_t>> seen;
  std::set<std::vector<std::uint64_t>> poisons;
  std::size_t values = 0;
  for (int refit = 0; refit < fill.refits(); ++refit) {
    for (std::size_t tensor = 0; tensor < value.tensors.size(); ++tensor) {
      for (std::int64_t i = 0; i < elements(value.tensors[tensor].shape()); ++i) {
        seen.insert(over_digit_passes(fill, [&](int pass) { return fill.value(tensor, i, {pass, refit}); }));
        poisons.insert(over_digit_passes(fill, [&](int pass) { return fill.poison(tensor, i, pass); }));
        values += 1;
      }
    }
    seen.insert(over_digit_passes(fill, [&](int pass) { return fill.padding(0, {pass, refit}); }));
    values += 1;
  }
  EXPECT_EQ(seen.size(), values);
  for (const auto& poison : poisons) EXPECT_EQ(seen.count(poison), 0u) << "poison of one element is data of another";
}

TEST_P(FillOfEveryWidth, DecodesWhatItWrote) {
  const Case value = parsed(GetParam());
  const Fill fill(value);
  for (int refit = 0; refit < fill.refits(); ++refit) {
    for (std::size_t tensor = 0; tensor < value.tensors.size(); ++tensor) {
      for (std::int64_t i = 0; i < elements(value.tensors[tensor].shape()); ++i) {
        const auto got = over_digit_passes(fill, [&](int pass) { return fill.value(tensor, i, {pass, refit}); });
        EXPECT_EQ(fill.decode(0, got), (DecodedElement{refit, false, tensor, i}));
        const auto poison = over_digit_passes(fill, [&](int pass) { return fill.poison(tensor, i, pass); });
        EXPECT_EQ(fill.decode(0, poison), std::nullopt);
      }
    }
    const auto padding = over_digit_passes(fill, [&](int pass) { return fill.padding(0, {pass, refit}); });
    EXPECT_EQ(fill.decode(0, padding), (DecodedElement{refit, true, 0, 0}));
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, FillOfEveryWidth, testing::ValuesIn(cases_of_every_width()));

class FillOfEveryKind : public testing::TestWithParam<std::string> {};

TEST_P(FillOfEveryKind, WritesRunsAndSingleElementsAlike) {
  const Case value = parsed(
      "u8[300] 1@0 R -> 1@1 R ; bf16[70,10] 1@0 R -> 1@1 R ; f32[40] 1@0 R -> 1@1 R ; f64[9] 1@0 "
      "R -> 1@1 R ; f8e4m3[11] 1@0 R -> 1@1 R | refits=2 seed=3 fill=" +
      GetParam());
  const Fill fill(value);
  alignas(64) std::byte run[4096];
  alignas(64) std::byte each[4096];
  for (std::size_t tensor = 0; tensor < value.tensors.size(); ++tensor) {
    const int width = width_bytes(value.tensors[tensor].dtype);
    const std::int64_t count = elements(value.tensors[tensor].shape()) - 2;
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i < count; ++i) offsets.push_back(i);
    for (int pass = 0; pass < fill.passes(); ++pass) {
      for (int refit = 0; refit < 2; ++refit) {
        const Call call{pass, refit};
        if (fill.pass_kind(pass) != PassKind::tag) {
          fill.write({tensor, 1, count}, call, run);
          fill.write_each(tensor, 1, offsets, call, each);
          for (std::int64_t i = 0; i < count; ++i) {
            EXPECT_EQ(load_element(run + i * width, width), fill.value(tensor, i + 1, call));
            EXPECT_EQ(load_element(each + i * width, width), fill.value(tensor, i + 1, call));
          }
        }
        fill.write_poison({tensor, 1, count}, pass, run);
        fill.write_padding(tensor, count, call, each);
        for (std::int64_t i = 0; i < count; ++i) {
          EXPECT_EQ(load_element(run + i * width, width), fill.poison(tensor, i + 1, pass));
          EXPECT_EQ(load_element(each + i * width, width), fill.padding(tensor, call));
        }
      }
    }
  }
}

TEST_P(FillOfEveryKind, PoisonDiffersFromTheExpectedValueInEveryByte) {
  const Case value = parsed(
      "u8[300] 1@0 R -> 1@1 R ; bf16[70] 1@0 R -> 1@1 R ; f32[40] 1@0 R -> 1@1 R ; f64[9] 1@0 R -> 1@1 "
      "R | seed=5 fill=" +
      GetParam());
  const Fill fill(value);
  for (std::size_t tensor = 0; tensor < value.tensors.size(); ++tensor) {
    for (std::int64_t i = 0; i < elements(value.tensors[tensor].shape()); ++i) {
      std::set<std::uint64_t> flips;
      for (int pass = 0; pass < fill.passes(); ++pass) {
        if (fill.pass_kind(pass) == PassKind::tag) continue;
        const std::uint64_t flip = fill.value(tensor, i, {pass, 0}) ^ fill.poison(tensor, i, pass);
        for (int byte = 0; byte < width_bytes(value.tensors[tensor].dtype); ++byte)
          EXPECT_NE(flip >> (8 * byte) & 0xFF, 0u);
        flips.insert(flip);
      }
      EXPECT_GE(flips.size(), 2u) << "two poison patterns";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FillOfEveryKind, testing::Values("digits", "hash", "special", "provenance"));

TEST(Fill, HashedRefitsDifferInEveryByte) {
  const Fill fill(parsed("f32[40] 1@0 R -> 1@1 R | refits=4 fill=hash"));
  for (std::int64_t i = 0; i < 40; ++i) {
    for (int refit = 1; refit < 4; ++refit) {
      const std::uint64_t flip = fill.value(0, i, {0, refit}) ^ fill.value(0, i, {0, refit - 1});
      for (int byte = 0; byte < 4; ++byte) EXPECT_NE(flip >> (8 * byte) & 0xFF, 0u);
    }
  }
}

TEST(Fill, RunsAsManyPassesAsTheNarrowestTypeNeeds) {
  EXPECT_EQ(Fill(parsed("u8[126] 1@0 R -> 1@1 R")).passes(), 2);
  EXPECT_EQ(Fill(parsed("u8[32767] 1@0 R -> 1@1 R")).passes(), 2);
  EXPECT_EQ(Fill(parsed("u8[32768] 1@0 R -> 1@1 R")).passes(), 3);
  EXPECT_EQ(Fill(parsed("bf16[3072,6144] 1@0 R -> 1@1 R")).passes(), 2);
  EXPECT_EQ(Fill(parsed("f64[3072,6144] 1@0 R -> 1@1 R | fill=special")).passes(), 4);
  EXPECT_EQ(Fill(parsed("f64[3072,6144] 1@0 R -> 1@1 R | fill=hash")).passes(), 2);
  EXPECT_EQ(Fill(parsed("u8[9] 1@0 R -> 1@1 R | fill=provenance")).passes(), 3);
}

TEST(Fill, DependsOnTheSeedAlone) {
  const Case value = parsed("u8[5] 1@0 R -> 1@1 R | seed=1");
  EXPECT_EQ(Fill(value).value(0, 3, {0, 0}), Fill(value).value(0, 3, {0, 0}));
  int different = 0;
  for (std::int64_t i = 0; i < 5; ++i) {
    different += Fill(value).value(0, i, {0, 0}) != Fill(parsed("u8[5] 1@0 R -> 1@1 R | seed=2")).value(0, i, {0, 0});
  }
  EXPECT_GT(different, 0);
}

/// A bf16 or f16 value that arithmetic, or a conversion that quiets and flushes, does not give back.
TEST(SpecialValues, CoverNaNsZerosDenormalsAndInfinities) {
  int quiet_nans = 0;
  int signalling_nans = 0;
  int zeros = 0;
  int denormals = 0;
  int infinities = 0;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const std::uint64_t bits = special_value(DType::bf16, i * 0x9E3779B97F4A7C15u);
    ASSERT_LE(bits, 0xFFFFu);
    const std::uint64_t exponent = bits >> 7 & 0xFF;
    const std::uint64_t mantissa = bits & 0x7F;
    quiet_nans += exponent == 0xFF && (mantissa & 0x40) != 0;
    signalling_nans += exponent == 0xFF && mantissa != 0 && (mantissa & 0x40) == 0;
    infinities += exponent == 0xFF && mantissa == 0;
    zeros += bits == 0x8000;
    denormals += exponent == 0 && mantissa != 0;
  }
  for (const int count : {quiet_nans, signalling_nans, zeros, denormals, infinities}) EXPECT_GT(count, 20);
}

TEST(SpecialValues, FitTheWidthOfEveryType) {
  for (const DType dtype : all_dtypes) {
    for (std::uint64_t i = 0; i < 500; ++i) {
      const std::uint64_t bits = special_value(dtype, i * 0x9E3779B97F4A7C15u);
      const int unused_bits = 64 - 8 * width_bytes(dtype);
      EXPECT_EQ(bits << unused_bits >> unused_bits, bits) << name(dtype);
    }
  }
}

}  // namespace
}  // namespace reshardcheck
