// Process subjects deliver on every kind of case, and whatever a process does instead of answering ends as one word
// about that process, within the deadline. (tests/verifier has the verdicts.)
#include "core/subject/process_subject.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/subject/registry.h"
#include "tests/core/subject/case_run.h"

namespace reshardcheck {
namespace {

const std::string python = RESHARDCHECK_PYTHON;
const std::string source_folder = RESHARDCHECK_SOURCE_DIR;
const std::string pairwise = "proc:" + python + " '" + source_folder + "/core/subject/python/pairwise_exchange.py'";

std::string misbehaving(const std::string& how) {
  return "proc:" + python + " '" + source_folder + "/tests/core/subject/misbehaving_process.py' " + how;
}

std::unique_ptr<Subject> process_subject(const std::string& name, const ProcessOptions& options = {}) {
  Result<std::unique_ptr<Subject>> made = make_process_subject(name, options);
  if (!made) std::fprintf(stderr, "%s\n", made.error().reason.c_str());
  RESHARDCHECK_CHECK(made.ok());
  return std::move(made.value());
}

std::string finding_of(const std::string& how, std::string_view text, const ProcessOptions& options = {}) {
  return CaseRun{}.run(case_of(text), *process_subject(misbehaving(how), options));
}

constexpr std::string_view every_kind[] = {
    "u8[8] 2@0 S(0) -> 2@2 R",
    "bf16[8,8] 2@0 S(0) -> 4@2 S(1)",
    "f32[5,3] 2x2@0 S(0),S(0) -> 2x2@4 R,R",
    "u8[9,4] 4{7,1,3,5} _S(0,2) -> 2x2@8 S(1),R via gather_broadcast",
    "gate = bf16[28,8] 2@0 S(0) -> 4@2 S(0) ; qkv = bf16[10,8] 2@0 S(0,segments=6|2|2) -> 4@2 R via gather_broadcast",
    "f64[5,3] 2@0 S(0) -> 4@1 S(0) | gap=2 domain=2 world=7",
    "f8e4m3[7] 3@0 S(0,pad=4) -> 2@1 S(0,balanced)",
    "u16[] 2@0 R -> 2@1 R",
    "i32[0,3] 2@0 S(0) -> 2@2 S(1)",
    "u8[3,2,2] 4@0 S(0) -> 3@2 S(2) ; u8[6] 2@4 S(0,cuts=1|5) -> 2{1,0} S(0,even) | batch=1 gap=1 chunk=2",
};

TEST(ProcessSubject, APythonProcessPerRankDeliversEveryKindOfCase) {
  const auto subject = process_subject(pairwise);
  for (const std::string_view text : every_kind) EXPECT_EQ(CaseRun{}.run(case_of(text), *subject), "pass") << text;
}

TEST(ProcessSubject, OnePythonProcessForAllRanksDeliversEveryKindOfCase) {
  const auto subject = process_subject(misbehaving("honest"));
  for (const std::string_view text : every_kind) EXPECT_EQ(CaseRun{}.run(case_of(text), *subject), "pass") << text;
}

TEST(ProcessSubject, IsMadeByTheRegistry) {
  EXPECT_EQ(subject_of(misbehaving("honest"))->name(), misbehaving("honest"));
  EXPECT_FALSE(make_subject("proc:").ok());
  EXPECT_FALSE(make_subject("proc:'open").ok());
}

TEST(ProcessSubject, WhereNoProcessSaysHelloTheErrorSaysWhy) {
  const auto reason = [](const std::string& name, const ProcessOptions& options = {}) {
    const Result<std::unique_ptr<Subject>> made = make_process_subject(name, options);
    return made.ok() ? "" : made.error().reason;
  };
  EXPECT_NE(reason("proc:/no/such/program").find("cannot start"), std::string::npos);
  EXPECT_NE(reason(misbehaving("dies_early")).find("exited with code 7"), std::string::npos);
  EXPECT_NE(reason(misbehaving("no_hello")).find("'Hello, world'"), std::string::npos);
  EXPECT_NE(reason(misbehaving("mute"), {.hello_ms = 500}).find("said nothing for 500 ms"), std::string::npos);
}

constexpr std::string_view large = "u8[8] 2@0 S(0) -> 2@2 R";
constexpr std::string_view small = "u8[4] 2@0 S(0) -> 2@2 R";

TEST(ProcessSubject, WhatAProcessDoesWrongIsSeenAsInAnySubject) {
  const std::pair<const char*, const char*> words[] = {
      {"honest", "pass"},    {"wrong", "wrong"},   {"source", "source_modified"},
      {"before", "guard"},   {"past", "guard"},    {"signal", "crash"},
      {"exit", "crash"},     {"garbage", "error"}, {"endless", "error"},
      {"refuse", "refused"}, {"raise", "error"},   {"network", "error"},
      {"cut", "error"},
  };
  for (const auto& [how, word] : words) {
    EXPECT_EQ(finding_of(how, large), word) << how;
    EXPECT_EQ(finding_of(how, small), "pass") << how;
  }
}

TEST(ProcessSubject, ASilentProcessIsGivenUpAtTheDeadline) {
  EXPECT_EQ(finding_of("hang", large, {.deadline_ms = 2'000}), "error");
}

TEST(ProcessSubject, WishesThatTheNetworkCannotTakeAreErrors) {
  for (const char* how : {"beyond", "negative", "overflow", "wide", "nobody", "greedy"}) {
    EXPECT_EQ(finding_of(how, small), "error") << how;
  }
  EXPECT_EQ(finding_of("alone", small), "hang");
  EXPECT_EQ(finding_of("insist", small, {.max_requests = 100}), "error");
}

TEST(ProcessSubject, AfterAnEndTheNextCasesGetANewProcess) {
  const auto subject = process_subject(misbehaving("signal"));
  EXPECT_EQ(CaseRun{}.run(case_of(large), *subject), "crash");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(CaseRun{}.run(case_of(small), *subject), "pass");
  EXPECT_EQ(CaseRun{}.run(case_of(large), *subject), "crash");
  EXPECT_EQ(CaseRun{}.run(case_of(small), *subject), "pass");
}

TEST(ProcessSubject, ADeathBetweenCasesIsNoFinding) {
  const auto subject = process_subject(misbehaving("dies_when_closed"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(CaseRun{}.run(case_of(large), *subject), "pass");
}

TEST(ProcessSubject, IsPreparedByStartingWhatTheCaseNeedsAndNothingElse) {
  const std::filesystem::path log =
      std::filesystem::temp_directory_path() / ("reshardcheck-starts-" + std::to_string(getpid()));
  const std::string words = pairwise.substr(process_subject_prefix.size());
  const auto subject = process_subject("proc:/bin/sh -c \"echo started >>'" + log.string() + "'; exec " + words + '"');
  const auto starts = [&log] {
    std::ifstream file(log);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  EXPECT_EQ(starts(), 1) << "for its hello";
  const Case value = case_of("u8[6] 2@0 S(0) -> 1@2 R");
  subject->prepare(value, {0, 3}, {});
  EXPECT_EQ(starts(), 3);
  EXPECT_EQ(CaseRun{}.run(value, *subject), "pass");
  subject->prepare(value, {1, 1}, {});
  EXPECT_EQ(starts(), 3) << "all there";
  subject->prepare(case_of("u8[6] 200@0 S(0) -> 1@200 R"), {0, 201}, {});
  EXPECT_EQ(starts(), 3) << "it will be refused";
  std::filesystem::remove(log);
}

TEST(ProcessSubject, RefusesWhatItsHelloLeavesOut) {
  const auto narrow = process_subject(misbehaving("narrow"));
  EXPECT_FALSE(narrow->unsupported(case_of(small)));
  EXPECT_TRUE(narrow->unsupported(case_of("u8[4] 2@0 S(0,even) -> 2@2 R")));
  EXPECT_TRUE(narrow->unsupported(case_of("u8[4,4] 2@0 S(0) -> 2@2 R")));
  EXPECT_TRUE(narrow->unsupported(case_of("u8[4] 2@0 S(0) -> 2@2 R | world=6")));
  // Asked, it remembers: the calls of the case are refused as well, and the next case is not.
  EXPECT_EQ(CaseRun{}.run(case_of("u8[4] 2@0 S(0) -> 2@2 R | world=6"), *narrow), "refused");
  EXPECT_FALSE(narrow->unsupported(case_of(small)));
  EXPECT_EQ(CaseRun{}.run(case_of(small), *narrow), "pass");
}

TEST(ProcessSubject, AWorldOfTooManyProcessesIsUnsupported) {
  const auto subject = process_subject(pairwise, {.max_processes = 3});
  EXPECT_TRUE(subject->unsupported(case_of(small)));
  EXPECT_EQ(CaseRun{}.run(case_of(small), *subject), "refused");
  EXPECT_FALSE(subject->unsupported(case_of("u8[4] 1@0 S(0) -> 2@1 R")));
}

TEST(ProcessProtocol, AHelloIsReadOrItsFaultIsNamed) {
  const Result<Hello> hello = read_hello(
      R"({"hello":{"abi":1,"hosts":"all","later":[],"capabilities":{"rules":["even"],"max_dims":2,"overlap":false}}})");
  ASSERT_TRUE(hello.ok());
  EXPECT_TRUE(hello->hosts_all_ranks);
  EXPECT_EQ(hello->capabilities.rules, 1U << RESHARDCHECK_EVEN);
  EXPECT_EQ(hello->capabilities.max_dims, 2U);
  EXPECT_EQ(hello->capabilities.overlap, 0U);
  EXPECT_EQ(hello->capabilities.idle_ranks, 1U);
  for (const char* line :
       {"", "null", "{", "[]", R"({"hello":1})", R"({"hello":{"abi":2,"hosts":"all"}})",
        R"({"hello":{"abi":1,"hosts":"some"}})", R"({"hello":{"abi":1,"hosts":"all","capabilities":1}})",
        R"({"hello":{"abi":1,"hosts":"all","capabilities":{"rules":["odd"]}}})",
        R"({"hello":{"abi":1,"hosts":"all","capabilities":{"dtypes":[]}}})",
        R"({"hello":{"abi":1,"hosts":"all","capabilities":{"max_dims":-1}}})",
        R"({"hello":{"abi":1,"hosts":"all","capabilities":{"overlap":3}}})"}) {
    EXPECT_FALSE(read_hello(line).ok()) << line;
  }
}

TEST(ProcessProtocol, AnAnswerIsReadOrQuoted) {
  EXPECT_EQ(read_answer(R"({"done":true})")->kind, AnswerKind::done);
  EXPECT_EQ(read_answer(R"({"unsupported":"no\nway"})")->reason, "no?way");
  EXPECT_EQ(read_answer(R"({"error":""})")->reason, "the subject gives no reason");
  EXPECT_EQ(read_answer(R"({"barrier":{}})")->kind, AnswerKind::barrier);
  EXPECT_TRUE(read_answer(R"({"exchange":[]})")->messages.empty());
  const Result<Answer> send = read_answer(R"({"send":{"to":3,"offset":64,"bytes":8}})");
  ASSERT_EQ(send->messages.size(), 1U);
  EXPECT_TRUE(send->messages[0].is_send);
  EXPECT_EQ(send->messages[0].peer, 3);
  EXPECT_EQ(send->messages[0].offset_bytes, 64);
  EXPECT_EQ(send->messages[0].size_bytes, 8);
  for (const char* line :
       {"done", "{}", R"({"done":false})", R"({"send":{}})", R"({"send":{"to":0,"offset":0.5,"bytes":1}})",
        R"({"done":true,"error":"both"})", R"({"unsupported":"a","barrier":{}})", R"({"exchange":[{"barrier":{}}]})",
        R"({"exchange":{}})", "[[[[[[[[[[[[[[[[[[[["}) {
    EXPECT_FALSE(read_answer(line).ok()) << line;
  }
  EXPECT_LT(read_answer(std::string(100'000, 'x')).error().reason.size(), 300U);
}

TEST(SharedBuffers, TheFolderIsPrivateAndGoesWithItsFiles) {
  std::string path;
  {
    const auto folder = SharedFolder::make();
    ASSERT_TRUE(folder.ok());
    path = (*folder)->path();
    struct stat facts {};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700U);
    Result<SharedFile> file = SharedFile::make(**folder, "a");
    ASSERT_TRUE(file.ok());
    EXPECT_FALSE(SharedFile::make(**folder, "a").ok());
    ASSERT_TRUE(file->grow(100).ok());
    std::byte byte{7};
    ASSERT_TRUE(file->write(99, {&byte, 1}).ok());
    byte = {};
    ASSERT_TRUE(file->read(99, {&byte, 1}).ok());
    EXPECT_EQ(byte, std::byte{7});
    EXPECT_FALSE(file->read(100, {&byte, 1}).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SharedBuffers, AFolderThatItsOwnerLeftBehindIsRemovedAndOneInUseIsNot) {
  using std::filesystem::exists;
  const auto used = SharedFolder::make();
  ASSERT_TRUE(used.ok());
  const std::filesystem::path left =
      std::filesystem::path((*used)->path()).parent_path() / ("reshardcheck-buffers-left" + std::to_string(getpid()));
  std::filesystem::create_directory(left);
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const std::filesystem::path& each : {left, std::filesystem::path((*used)->path())}) {
    std::filesystem::last_write_time(each, long_ago);
  }
  ASSERT_TRUE(SharedFolder::make().ok());
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists((*used)->path()));
}

}  // namespace
}  // namespace reshardcheck
