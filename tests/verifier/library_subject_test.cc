// Library subjects judged: the example in C delivers what the reference delivers, and one that misbehaves is told
// apart.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>

#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "core/world/threads.h"
#include "tests/verifier/generated_mix.h"
#include "verifier/executor.h"

namespace reshardcheck {
namespace {

const std::string example = std::string("lib:") + RESHARDCHECK_EXAMPLE_SUBJECT;
const std::string misbehaving = std::string("lib:") + RESHARDCHECK_MISBEHAVING_SUBJECT;

Verdict verdict_of(const std::string& name, const Case& value) {
  const auto subject = make_subject(name);
  EXPECT_TRUE(subject.ok()) << subject.error().reason;
  Executor executor;
  return *executor.run(value, **subject);
}

Verdict verdict_of(const std::string& name, std::string_view text) { return verdict_of(name, *parse_case(text)); }

RC_GTEST_PROP(ExampleSubject, PassesEveryCaseThatTheReferencePasses, ()) {
  const Case value = generated::mix();
  RC_ASSERT(validate(value).ok());
  for (const std::string& name : {std::string("reference"), example, example + "?replica=last"}) {
    const Verdict verdict = verdict_of(name, value);
    if (verdict.kind != VerdictKind::pass) RC_FAIL(name + " on " + to_text(value) + ": " + verdict.detail);
  }
}

TEST(ExampleSubject, PassesOneCaseOfEachKind) {
  for (const std::string_view text : {
           "f64[] 2@0 R -> 3@1 R",
           "u8[0,4] 2@0 S(0) -> 2@1 S(1)",
           "u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R via gather_broadcast",
           "bf16[10,8] 2x2@0 S(0,segments=6|2|2),R -> 3@2 S(0,padded) | refits=3",
           "i64[7,6,5] 3x2@0 R,S(1,balanced) -> 2x2@0 S(2),S(0) | gap=1 refits=2 fill=provenance",
           "u8[7] 3@0 S(0,cuts=0|5|2) -> 4@0 S(0,pad=4) | world=9 fill=special",
           "gate = bf16[28,8] 2@0 S(0) -> 4@2 S(0) ; qkv = bf16[10,8] 2@0 S(0,segments=6|2|2) -> 4@2 R via "
           "gather_broadcast | domain=2 seed=7 batch=1",
       }) {
    const Verdict verdict = verdict_of(example, text);
    EXPECT_EQ(verdict.kind, VerdictKind::pass) << text << ": " << verdict.detail;
  }
}

TEST(ExampleSubject, PassesOnAThreadARank) {
  const auto subject = make_subject(example);
  ASSERT_TRUE(subject.ok()) << subject.error().reason;
  ThreadsWorld world;
  Executor executor(world);
  for (const std::string_view text :
       {"bf16[8,8] 2@0 S(0) -> 4@2 S(1)", "i64[7,6,5] 3x2@0 R,S(1,balanced) -> 2x2@0 S(2),S(0) | refits=3"}) {
    const Result<Verdict> verdict = executor.run(*parse_case(text), **subject);
    ASSERT_TRUE(verdict.ok()) << verdict.error().reason;
    EXPECT_EQ(verdict->kind, VerdictKind::pass) << text << ": " << verdict->detail;
  }
}

TEST(ExampleSubject, FindsNoPeaceWhereMessagesAreLost) {
  EXPECT_TRUE(verdict_of(example, "u8[4] 2@0 S(0) -> 1@2 R | faults=drop@0").failed());
  EXPECT_TRUE(verdict_of(example, "u8[4] 2@0 S(0) -> 1@2 R | faults=kill@1.1").failed());
}

constexpr std::string_view uneven = "bf16[5,2] 2@0 S(1) -> 4@2 S(0)";
constexpr std::string_view even = "bf16[4,2] 2@0 S(1) -> 4@2 S(0)";

TEST(MisbehavingSubject, IsHonestOnEvenShardsWhateverItIsTold) {
  for (const char* what : {"", "?do=crash", "?do=abort", "?do=hang", "?do=exit", "?do=heap", "?do=error",
                           "?do=one_rank_error", "?do=refuse", "?do=print"}) {
    EXPECT_EQ(verdict_of(misbehaving + what, even).kind, VerdictKind::pass) << what;
  }
  EXPECT_EQ(verdict_of(misbehaving, uneven).kind, VerdictKind::pass);
}

TEST(MisbehavingSubject, FailsOnUnevenShardsAsTold) {
  const Verdict error = verdict_of(misbehaving + "?do=error", uneven);
  EXPECT_EQ(error.kind, VerdictKind::error);
  EXPECT_NE(error.detail.find("told to fail on uneven shards"), std::string::npos) << error.detail;
  EXPECT_EQ(verdict_of(misbehaving + "?do=one_rank_error", uneven).kind, VerdictKind::disagree);
  EXPECT_EQ(verdict_of(misbehaving + "?do=refuse", uneven).kind, VerdictKind::valid_rejected);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(verdict_of(misbehaving + "?do=print", uneven).kind, VerdictKind::pass);
  EXPECT_NE(testing::internal::GetCapturedStdout().find(R"({"verdict":"pass")"), std::string::npos);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("was told to print"), std::string::npos);
}

TEST(MisbehavingSubject, EndsTheProcessAsTold) {
  EXPECT_DEATH(verdict_of(misbehaving + "?do=crash", uneven), "");
  EXPECT_DEATH(verdict_of(misbehaving + "?do=abort", uneven), "");
  EXPECT_DEATH(verdict_of(misbehaving + "?do=heap", uneven), "");
  // With a status of its own, unless a leak checker has seen the end of a process from inside of a fiber.
  const auto exited = [](int status) { return WIFEXITED(status); };
  EXPECT_EXIT(verdict_of(misbehaving + "?do=exit", uneven), exited, "");
}

}  // namespace
}  // namespace reshardcheck
