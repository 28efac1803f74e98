// Every mutant fails on a tiny case that has the precondition of its bug, in the way it should, and is right on one
// that lacks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/subject/registry.h"
#include "tests/core/subject/case_run.h"

namespace reshardcheck {
namespace {

/// What the case shows on the mutant, and a case of the same kind that passes.
struct MutantLaw {
  std::string_view mutant;
  std::string_view fails;
  std::string_view finding;
  std::string_view passes;
};

constexpr MutantLaw laws[] = {
    {"flat-chunk", "u8[2] 2x2@0 S(0),S(0) -> 1@4 R", "wrong", "u8[4] 2x2@0 S(0),S(0) -> 2@4 S(0)"},
    {"balanced-as-chunk", "u8[4] 3@0 S(0,balanced) -> 1@3 R", "wrong", "u8[5] 2@0 S(0,balanced) -> 1@2 R"},
    {"floor-offset", "u8[3] 2@0 S(0) -> 1@2 R", "wrong", "u8[4] 2@0 S(0) -> 1@2 R"},
    {"keep-padding", "u8[1] 2@0 S(0,padded) -> 1@2 R", "guard", "u8[2] 2@0 S(0,padded) -> 1@2 R"},
    {"empty-offset", "u8[1] 2@0 S(0) -> 1@2 R", "wrong", "u8[2] 2@0 S(0) -> 1@2 R"},
    {"axis-order", "u8[4] 2x2@0 S(0),S(0) -> 1@4 R", "wrong", "u8[4,4] 2x2@0 S(0),S(1) -> 1@4 R"},
    {"strided-as-plain", "u8[4] 2@0 _S(0,2) -> 1@2 R", "wrong", "u8[4] 2@0 _S(0,1) -> 1@2 R"},
    {"segments-as-plain", "u8[4] 2@0 S(0,segments=2|2) -> 1@2 R", "wrong", "u8[4] 2@0 S(0,segments=4) -> 1@2 R"},
    {"segment-swap", "u8[2] 1@0 S(0,segments=1|1) -> 1@1 R", "wrong", "u8[2] 1@0 S(0,segments=2|0) -> 1@1 R"},
    {"last-full", "u8[3] 1@0 R -> 2@1 S(0)", "guard", "u8[4] 1@0 R -> 2@1 S(0)"},
    {"floor-remainder", "u8[3] 2@0 S(0) -> 1@2 R", "wrong", "u8[4] 2@0 S(0) -> 1@2 R"},
    {"size-one-axis", "u8[2] 1x2@0 R,S(0) -> 1@2 R", "wrong", "u8[2] 2x1@0 S(0),R -> 1@2 R"},
    {"kv-cyclic", "u8[2] 2x2@0 S(0),R -> 1@4 R", "wrong", "u8[2] 2x2@0 R,S(0) -> 1@4 R"},
    {"shard-zero", "u8[2] 1@0 R -> 2@1 S(0)", "wrong", "u8[2] 1@0 R -> 2@1 R"},
    {"orphan-experts", "u8[3] 1@0 R -> 2@1 S(0)", "wrong", "u8[4] 1@0 R -> 2@1 S(0)"},

    {"rank-arithmetic", "u8[2] 2{1,0} S(0) -> 1@2 R", "wrong", "u8[2] 2@3 S(0) -> 1@0 R"},
    {"base-ignored", "u8[1] 1@0 R -> 1@1 R", "hang", "u8[2] 2@0 S(0) -> 2@0 R"},
    {"role-by-half", "u8[2] 2{1,0} S(0) -> 1@2 R", "wrong", "u8[2] 2@0 S(0) -> 1@2 R"},
    {"transpose-square", "u8[2,2] 1@0 R -> 1@1 R", "wrong", "u8[2,3] 1@0 R -> 1@1 R"},
    {"stride-dim", "u8[2,2,1] 1@0 R -> 1@1 S(0)", "wrong", "u8[2,2,1] 1@0 R -> 1@1 S(2)"},
    {"local-as-global", "u8[2] 1@0 R -> 2@1 S(0)", "guard", "u8[2] 2@0 S(0) -> 1@2 R"},
    {"offset-32", "u8[4] 1@0 R -> 2@1 S(0)", "wrong", "u8[2] 1@0 R -> 2@1 S(0)"},
    {"row-align", "u8[2] 1@0 R -> 2@1 S(0)", "wrong", "u8[32] 1@0 R -> 2@1 S(0)"},
    {"ignore-strides", "u8[2,2] 1@0 R -> 1@1 R | gap=1", "wrong", "u8[2,2] 1@0 R -> 1@1 R"},

    {"replica-merge", "u8[2] 2@0 S(0) -> 1@2 R", "wrong", "u8[3] 2@0 S(0) -> 1@2 R"},
    {"replica-starved", "u8[1] 1@0 R -> 2@1 R", "wrong", "u8[1] 2@0 R -> 2@2 R"},
    {"domain-anchor", "u8[1] 1@0 R -> 2@1 R | domain=2@1", "excess_traffic", "u8[1] 1@0 R -> 2@2 R | domain=2"},
    {"slot-collapse", "u8[1] 1@0 R -> 3{2,3,4} R | domain=2", "hang", "u8[1] 1@0 R -> 4@2 R | domain=2"},
    {"rep-slots", "u8[1] 2@0 R -> 2@2 R | domain=1", "wrong", "u8[1] 2@0 R -> 2@2 R | domain=2"},
    {"replica-flood", "u8[1] 1@0 R -> 2@2 R | domain=2", "excess_traffic", "u8[1] 1@0 R -> 2@2 R"},
    {"wrong-root", "u8[1] 1@1 R -> 1@2 R via gather_broadcast", "wrong", "u8[1] 1@0 R -> 1@1 R via gather_broadcast"},

    {"chunk-tail", "u8[9] 1@0 R -> 1@1 R | chunk=4", "wrong", "u8[8] 1@0 R -> 1@1 R | chunk=4"},
    {"chunk-exact", "u8[8] 1@0 R -> 1@1 R | chunk=4", "wrong", "u8[9] 1@0 R -> 1@1 R | chunk=4"},
    {"count-32?width=3", "u8[9] 1@0 R -> 1@1 R", "wrong", "u8[7] 1@0 R -> 1@1 R"},
    {"tiny-signal", "u8[3] 1@0 R -> 1@1 R", "hang", "u8[4] 1@0 R -> 1@1 R"},
    {"signal-bank", "u8[2] 2@0 S(0) -> 1@2 R", "wrong", "u8[2] 1@0 R -> 2@1 S(0)"},
    {"slot-reuse", "u8[2] 1@0 R -> 2@1 S(0)", "wrong", "u8[2] 2@0 S(0) -> 1@2 R"},

    {"cache-shape", "u8[1] 1@0 R -> 1@1 R ; u8[2] 1@0 R -> 1@1 R", "wrong",
     "u8[2] 1@0 R -> 1@1 R ; u8[2] 1@0 R -> 1@1 R"},
    {"cache-placement", "u8[2] 1@0 R -> 2@1 R ; u8[2] 1@0 R -> 2@1 S(0)", "wrong",
     "u8[2] 1@0 R -> 2@1 R ; u8[3] 1@0 R -> 2@1 S(0)"},
    {"cache-rank", "u8[2] 2@0 S(0) -> 1@2 R", "wrong", "u8[2] 2@0 R -> 1@2 R"},
    {"tensor-swap", "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R", "wrong",
     "u8[1] 1@0 R -> 1@1 R ; u8[2] 1@0 R -> 1@1 R"},
    {"group-order", "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R", "wrong",
     "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R | batch=1"},
    {"pair-order", "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R", "wrong", "u8[1] 1@0 R -> 2@1 R"},
    {"lost-send", "u8[1] 1@0 R -> 1@1 R", "hang", "u8[1] 1@0 R -> 1@0 R"},
    {"batch-split", "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R", "hang",
     "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R | batch=1"},
    {"last-tensor", "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R", "wrong", "u8[1] 1@0 R -> 1@1 R"},
    {"bucket-edge", "u8[3] 1@0 R -> 1@1 R", "wrong", "u8[2] 1@0 R -> 1@1 R"},
    {"partial-mix", "u8[1] 1@0 R -> 1@1 R ; u8[1] 1@0 R -> 1@1 R via gather_broadcast", "wrong",
     "u8[1] 1@0 R -> 1@1 R via gather_broadcast"},

    {"overrun", "u8[1] 1@0 R -> 1@1 R", "guard", "u8[0] 1@0 R -> 1@1 R"},
    {"underrun", "u8[1] 1@0 R -> 1@1 R", "guard", "u8[0] 1@0 R -> 1@1 R"},
    {"scribble-source", "u8[1] 1@0 R -> 1@1 R", "source_modified", "u8[0] 1@0 R -> 1@1 R"},
    {"cast-bf16", "f32[3] 1@0 R -> 1@1 R", "wrong", "u32[3] 1@0 R -> 1@1 R"},
    {"replica-sum", "u8[1] 2@0 R -> 1@2 R", "wrong", "u8[2] 2@0 S(0) -> 1@2 R"},
    {"in-place-hazard", "u8[2] 1@0 R -> 2{1,0} S(0)", "wrong", "u8[2] 1@0 R -> 2{1,2} S(0)"},

    {"success-no-data", "u8[1] 1@0 R -> 1@1 R", "wrong", "u8[0] 1@0 R -> 1@1 R"},
    {"one-rank-error", "u8[1] 1@0 R -> 1@1 R", "hang", "u8[1] 1@0 R -> 1@0 R"},
    {"valid-rejected", "u8[1] 1@0 R -> 1@1 R", "refused", "u8[1] 1@0 R -> 1@1 S(0)"},
    {"empty-crash", "u8[1] 2@0 S(0) -> 1@2 R", "crash", "u8[2] 2@0 S(0) -> 1@2 R"},
    {"idle-rank", "u8[1] 1@0 R -> 1@2 R", "hang", "u8[1] 1@0 R -> 1@1 R"},
};

/// Mutants that a law in the table above cannot state: they need history, special values or luck.
constexpr std::string_view elsewhere[] = {"second-call", "fifth-call", "nan-canonical", "flush-denormal",
                                          "one-in-twenty"};

std::string finding(std::string_view mutant, std::string_view text, CaseRun run = {}) {
  return run.run(case_of(text), *subject_of("mutant:" + std::string(mutant)));
}

std::string_view bare(std::string_view mutant) { return mutant.substr(0, mutant.find('?')); }

TEST(Mutants, FailWhereTheirPreconditionHolds) {
  for (const MutantLaw& law : laws)
    EXPECT_EQ(finding(law.mutant, law.fails), law.finding) << law.mutant << ": " << law.fails;
}

TEST(Mutants, AreRightWhereItDoesNot) {
  for (const MutantLaw& law : laws)
    EXPECT_EQ(finding(law.mutant, law.passes), "pass") << law.mutant << ": " << law.passes;
}

TEST(Mutants, TheReferencePassesEveryCaseThatTheyFail) {
  for (const MutantLaw& law : laws) {
    EXPECT_EQ(CaseRun{}.run(case_of(law.fails), *subject_of("reference")), "pass") << law.fails;
  }
}

TEST(Mutants, EveryOneOfTheCatalogueHasItsLaw) {
  std::set<std::string> with_law;
  for (const MutantLaw& law : laws) with_law.insert("mutant:" + std::string(bare(law.mutant)));
  for (const std::string_view name : elsewhere) with_law.insert("mutant:" + std::string(name));
  for (const SubjectInfo& info : subject_catalogue()) {
    EXPECT_TRUE(with_law.contains(info.name) || info.name.starts_with("reference")) << info.name;
  }
}

TEST(Mutants, SecondCallDeliversWhatTheFirstDid) {
  EXPECT_EQ(finding("second-call", "u8[1] 1@0 R -> 1@1 R", {.calls = 1}), "pass");
  EXPECT_EQ(finding("second-call", "u8[1] 1@0 R -> 1@1 R", {.calls = 2}), "wrong");
}

TEST(Mutants, FifthCallNeedsAHistoryOfFour) {
  EXPECT_EQ(finding("fifth-call", "u8[1] 1@0 R -> 1@1 R", {.calls = 4}), "pass");
  EXPECT_EQ(finding("fifth-call", "u8[1] 1@0 R -> 1@1 R", {.calls = 5}), "wrong");
}

TEST(Mutants, NanCanonicalChangesPayloadsOnly) {
  const auto bits = [](std::uint64_t value) {
    return [value](std::size_t, std::int64_t, std::int64_t) { return value; };
  };
  EXPECT_EQ(finding("nan-canonical", "bf16[1] 1@0 R -> 1@1 R", {.value = bits(0x7f81)}), "wrong");
  EXPECT_EQ(finding("nan-canonical", "bf16[1] 1@0 R -> 1@1 R", {.value = bits(0x7f80)}), "pass");
  EXPECT_EQ(finding("nan-canonical", "bf16[1] 1@0 R -> 1@1 R", {.value = bits(0x3f81)}), "pass");
  EXPECT_EQ(finding("nan-canonical", "u16[1] 1@0 R -> 1@1 R", {.value = bits(0x7f81)}), "pass");
}

TEST(Mutants, FlushDenormalKeepsZeroAndNormalNumbers) {
  const auto bits = [](std::uint64_t value) {
    return [value](std::size_t, std::int64_t, std::int64_t) { return value; };
  };
  EXPECT_EQ(finding("flush-denormal", "f32[1] 1@0 R -> 1@1 R", {.value = bits(0x8000'0001)}), "wrong");
  EXPECT_EQ(finding("flush-denormal", "f32[1] 1@0 R -> 1@1 R", {.value = bits(0x8000'0000)}), "pass");
  EXPECT_EQ(finding("flush-denormal", "f32[1] 1@0 R -> 1@1 R", {.value = bits(0x0080'0001)}), "pass");
  EXPECT_EQ(finding("flush-denormal", "i32[1] 1@0 R -> 1@1 R", {.value = bits(0x0000'0001)}), "pass");
}

TEST(Mutants, OneInTwentyFailsOnceInTwentyCallsWhateverTheCase) {
  const auto subject = subject_of("mutant:one-in-twenty");
  const Case value = case_of("u8[2] 2@0 S(0) -> 1@2 R");
  int failed = 0;
  for (int run = 0; run < 40; ++run) failed += CaseRun{.calls = 1}.run(value, *subject) == "wrong" ? 1 : 0;
  EXPECT_EQ(failed, 2);
}

TEST(Mutants, AreWrongUnderEveryDeliveryOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const MutantLaw& law : laws) {
      EXPECT_EQ(finding(law.mutant, law.fails, {.seed = seed}), law.finding) << law.mutant << " with seed " << seed;
    }
  }
}

}  // namespace
}  // namespace reshardcheck
