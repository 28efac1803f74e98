// The verdicts on process subjects: pass for the examples in Python, and a verdict of its own for every way in which a
// process can fail, after which the cases that follow are judged as if nothing had happened.
#include "core/subject/process_subject.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/plan/generated_layouts.h"
#include "tests/verifier/hand_ranks.h"
#include "verifier/executor.h"

namespace reshardcheck {
namespace {

std::unique_ptr<Subject> python_subject(const std::string& program, const ProcessOptions& options = {}) {
  const std::string name = std::string("proc:") + RESHARDCHECK_PYTHON + " " + RESHARDCHECK_SOURCE_DIR + "/" + program;
  Result<std::unique_ptr<Subject>> made = make_process_subject(name, options);
  if (!made) std::fprintf(stderr, "%s\n", made.error().reason.c_str());
  RESHARDCHECK_CHECK(made.ok());
  return std::move(made.value());
}

constexpr const char* misbehaving_program = "tests/core/subject/misbehaving_process.py ";

Case random_case() {
  Case value;
  for (std::int64_t tensors = generated::number(1, 3); tensors > 0; --tensors) {
    const LayoutPair pair = *layout_pairs();
    const DType dtype = all_dtypes[static_cast<std::size_t>(generated::number(0, std::ssize(all_dtypes) - 1))];
    value.tensors.push_back({"", dtype, Path::reshard, pair.source, pair.target});
  }
  value.options.gap_elements = generated::number(0, 2);
  value.options.batch_tensors = generated::number(0, 2);
  value.options.refits = generated::number(1, 2);
  return value;
}

void expect_passes(Subject& subject, const char* description) {
  Executor executor;
  EXPECT_TRUE(rc::check(description, [&] {
    for (int i = 0; i < 3; ++i) {
      const Case value = random_case();
      const Verdict verdict = *executor.run(value, subject);
      RC_LOG(to_text(value) + "\n" + verdict.detail);
      RC_ASSERT(verdict == Verdict{});
    }
  }));
}

TEST(ProcessSubjectVerdict, AnElementByElementMoveInPythonPassesOnEveryCase) {
  expect_passes(*python_subject(misbehaving_program + std::string("honest")), "element by element");
}

#ifdef RESHARDCHECK_HAVE_NUMPY
TEST(ProcessSubjectVerdict, TheGatherBroadcastInNumPyPassesOnEveryCase) {
  expect_passes(*python_subject("core/subject/python/numpy_gather_broadcast.py"), "gather-broadcast in NumPy");
}
#endif

TEST(ProcessSubjectVerdict, TheExchangeInPythonPassesWithAProcessPerRank) {
  const auto subject = python_subject("core/subject/python/pairwise_exchange.py");
  Executor executor;
  for (const char* text :
       {"bf16[8,8] 2@0 S(0) -> 4@2 S(1)", "u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R",
        "f32[5,3] 2@0 S(0) -> 4@1 S(0) | refits=2 gap=1", "u8[3] 2@0 R -> 2@1 R ; i64[7] 3@0 S(0,pad=4) -> 2@0 S(0)"}) {
    EXPECT_EQ(executor.run(parsed_case(text), *subject)->kind, VerdictKind::pass) << text;
  }
}

TEST(ProcessSubjectVerdict, EveryFailureHasItsOwn) {
  struct Row {
    const char* how;
    VerdictKind kind;
    const char* detail;  // a part of it
  };
  const Row rows[] = {
      {"signal", VerdictKind::crash, "the process was killed by signal 11 (Segmentation fault)"},
      {"exit", VerdictKind::crash, "the process exited with code 3"},
      {"hang", VerdictKind::hang, "the process said nothing for 2000 ms"},
      {"garbage", VerdictKind::error, "'Segmentation ?fault in xxx"},
      {"raise", VerdictKind::error, "ValueError: no such?shard"},
      {"refuse", VerdictKind::valid_rejected, "not so many elements"},
      {"wrong", VerdictKind::mismatch, ""},
      {"source", VerdictKind::source_modified, ""},
      {"before", VerdictKind::guard, "byte 1 before the start"},
      {"past", VerdictKind::guard, "byte 1 past the end"},
      {"negative", VerdictKind::error, "what is no answer"},
      {"beyond", VerdictKind::error, "the process asks to send"},
      {"exit_in_close", VerdictKind::crash, "the end of the session on rank 0: the process exited with code 5"},
      {"error_in_close", VerdictKind::error, "did not close its session: it does not close"},
      {"refuse_in_close", VerdictKind::error, "did not close its session: closing"},
      {"garbage_in_close", VerdictKind::error, "what is no answer"},
  };
  Executor executor;
  for (const Row& row : rows) {
    ProcessOptions options;
    if (row.kind == VerdictKind::hang) options.deadline_ms = 2'000;
    const auto subject = python_subject(misbehaving_program + std::string(row.how), options);
    const Verdict verdict = *executor.run(parsed_case("u8[8] 2@0 S(0) -> 2@2 R"), *subject);
    EXPECT_EQ(verdict.kind, row.kind) << row.how << ": " << verdict.detail;
    EXPECT_NE(verdict.detail.find(row.detail), std::string::npos) << row.how << ": " << verdict.detail;
    EXPECT_EQ(verdict.detail.find('\n'), std::string::npos) << row.how;
  }
}

TEST(ProcessSubjectVerdict, WhatTheHelloLeavesOutIsUnsupportedAndUntouched) {
  const auto subject = python_subject(misbehaving_program + std::string("narrow"));
  Executor executor;
  // The second tensor alone is outside: a batch does not show it, yet nothing of the first may be written.
  const Verdict verdict =
      *executor.run(parsed_case("u8[4] 2@0 S(0) -> 2@2 R ; u8[4] 2@0 S(0,even) -> 2@2 R | batch=1"), *subject);
  EXPECT_EQ(verdict.kind, VerdictKind::unsupported) << verdict.detail;
  EXPECT_EQ(executor.run(parsed_case("u8[4] 2@0 S(0) -> 2@2 R"), *subject)->kind, VerdictKind::pass);
}

TEST(ProcessSubjectVerdict, AHundredCasesPassAfterACrashAndAHang) {
  Executor executor;
  for (const char* how : {"signal", "hang"}) {
    const auto subject = python_subject(misbehaving_program + std::string(how), {.deadline_ms = 2'000});
    EXPECT_TRUE(executor.run(parsed_case("u8[8] 2@0 S(0) -> 2@2 R"), *subject)->failed());
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(executor.run(parsed_case("u8[4] 2@0 S(0) -> 2@2 R"), *subject)->kind, VerdictKind::pass);
    }
  }
}

}  // namespace
}  // namespace reshardcheck
