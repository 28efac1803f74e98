// Goal: whatever a subject does to the process it runs in, that is a verdict; the campaign goes on, and nothing is left
// behind. Method: the real binary, a library that misbehaves as told on uneven targets, signals from outside.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "core/layout/notation.h"
#include "tests/cli/driver.h"
#include "verifier/worker/worker_runner.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

/// Its target shards differ: the library misbehaves here, and not on the even one.
constexpr const char* uneven_text = "u8[3] 1@0 R -> 2@1 S(0)";
constexpr const char* even_text = "u8[4] 1@0 R -> 2@1 S(0)";

std::vector<json> only_events(const std::vector<json>& all, const std::string& event) {
  std::vector<json> result;
  for (const json& each : all) {
    if (each.at("event") == event) result.push_back(each);
  }
  return result;
}

Words words_and(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// How one way to misbehave has to come out.
struct Misdeed {
  const char* what;
  const char* verdict;
  const char* detail;  // a regular expression
  const char* cases;   // budget of its campaign: a hang costs the bound, every time
};
constexpr Misdeed misdeeds[] = {
    {"crash", "crash", "killed by signal 11 \\(Segmentation fault\\)", "60"},
    {"exit", "crash", "exited with code 0", "60"},
    {"shout", "crash", "killed by signal 6 \\(Aborted\\); it printed: \\?\\?\\?", "60"},
    {"heap", "crash", "killed by signal 6 \\(Aborted\\)", "60"},
    {"hang", "hang", "no answer in [0-9]+ m?s", "6"},
    {"error", "error", "told to fail", "60"},
    {"one_rank_error", "disagree", "told to fail on one rank", "60"},
    {"refuse", "valid_rejected", "told to refuse uneven shards", "60"},
};

class Misbehaving : public ::testing::TestWithParam<Misdeed> {};

TEST_P(Misbehaving, IsItsVerdictAndTheNextCasePasses) {
  const Misdeed& misdeed = GetParam();
  const CleanRan result = run_watched({"run", uneven_text, even_text, uneven_text, even_text, "--subject",
                                       misbehaving_subject(misdeed.what), "--case-timeout", "0.3", "--json"});
  EXPECT_EQ(result.ran.exit_code, 1) << result.ran.err;
  EXPECT_EQ(result.left_behind, "");
  const std::vector<json> cases = json_lines(result.ran.out);
  ASSERT_EQ(cases.size(), 4U) << result.ran.out << result.ran.err;
  for (const std::size_t failing : {0U, 2U}) {
    EXPECT_EQ(cases[failing]["verdict"], misdeed.verdict) << cases[failing];
    EXPECT_TRUE(std::regex_search(cases[failing]["detail"].get<std::string>(), std::regex(misdeed.detail)))
        << cases[failing];
    EXPECT_EQ(cases[failing + 1]["verdict"], "pass") << cases[failing + 1];
  }
}

TEST_P(Misbehaving, DoesNotEndACampaignBeforeItsBudgetAndIsMinimised) {
  const Misdeed& misdeed = GetParam();
  const CleanRan result =
      run_watched({"fuzz", "--subject", misbehaving_subject(misdeed.what), "--case-timeout", "0.1", "--cases",
                   misdeed.cases, "--seed", "3", "--stop-after", "0", "--ranks", "2..4", "--json"});
  EXPECT_EQ(result.ran.exit_code, 1) << result.ran.err;
  EXPECT_EQ(result.left_behind, "");
  const std::vector<json> all = json_lines(result.ran.out);
  EXPECT_EQ(only_events(all, "case").size(), std::stoul(misdeed.cases));
  const std::vector<json> findings = only_events(all, "finding");
  ASSERT_FALSE(findings.empty());
  for (const json& finding : findings) {
    EXPECT_EQ(finding["verdict"], misdeed.verdict);
    EXPECT_EQ(finding["one_minimal"], true);
    EXPECT_EQ(finding["case"], "u8[1] 1@0 R -> 2@1 S(0)");
  }
  EXPECT_EQ(only_events(all, "end").at(0)["verdict"], "findings");
}

std::string name_of(const ::testing::TestParamInfo<Misdeed>& misdeed) { return misdeed.param.what; }
INSTANTIATE_TEST_SUITE_P(Worker, Misbehaving, ::testing::ValuesIn(misdeeds), name_of);

/// Groups of workers that this process drives.
WorkerOptions worker_options() {
  WorkerOptions options;
  options.binary = RESHARDCHECK_BINARY;
  options.case_ms = 300;
  return options;
}

TEST(Worker, TheNextHundredCasesOnTheReferencePassInTheSameGroup) {
  const MakeRunner make_runner = worker_runners(worker_options());
  const Case uneven_case = *parse_case(uneven_text);
  for (const Misdeed& misdeed : misdeeds) {
    {
      const Result<std::unique_ptr<Runner>> runner = make_runner(misbehaving_subject(misdeed.what));
      ASSERT_TRUE(runner.ok()) << runner.error().reason;
      const Result<Verdict> verdict = (*runner)->run(uneven_case);
      ASSERT_TRUE(verdict.ok()) << verdict.error().reason;
      EXPECT_EQ(name(verdict->kind), misdeed.verdict);
    }
    const Result<std::unique_ptr<Runner>> reference = make_runner("reference");
    ASSERT_TRUE(reference.ok()) << reference.error().reason;
    for (int i = 0; i < 100; ++i) {
      const Result<Verdict> verdict = (*reference)->run(uneven_case);
      ASSERT_TRUE(verdict.ok()) << verdict.error().reason;
      ASSERT_EQ(verdict->kind, VerdictKind::pass) << misdeed.what << ": " << verdict->detail;
    }
  }
}

TEST(Worker, WhatASubjectPrintsDisturbsNothingAndIsKeptWhereTheUserSays) {
  const Folder folder;
  for (const std::string world : {"sim", "threads"}) {
    const std::string file = folder.path(world);
    const CleanRan result = run_watched({"run", uneven_text, uneven_text, "--subject", misbehaving_subject("print"),
                                         "--world", world, "--subject-output", file, "--json"});
    EXPECT_EQ(result.ran.exit_code, 0) << result.ran.err;
    EXPECT_EQ(result.ran.err, "");
    EXPECT_EQ(result.left_behind, "");
    EXPECT_EQ(json_lines(result.ran.out).size(), 2U);
    EXPECT_NE(read_file(file).find("was told to print"), std::string::npos) << read_file(file);
    EXPECT_NE(read_file(file).find("\"verdict\":\"pass\",\"from\""), std::string::npos) << read_file(file);
  }
}

/// A campaign on the reference in workers, which the test disturbs after its tenth case: it has more than fit into the
/// channel, so that it cannot be over before the signal.
struct Disturbed {
  Ran ran;
  std::string left_behind;
};
Disturbed disturbed_campaign(const std::string& world, int signal) {
  Driver driver({"fuzz", "--isolate", "--world", world, "--cases", "2000", "--seed", "6", "--ranks", "2..4", "--json",
                 "--stop-after", "0", "--case-timeout", "0.3"});
  Disturbed result;
  std::string begin;
  for (int lines = 0; lines < 11; ++lines) begin += driver.next_line().value_or("nothing") + "\n";
  const auto is_worker = [](const MarkedProcess& process) {
    return process.command.find(" worker ") != std::string::npos;
  };
  EXPECT_EQ(signal_started(driver, signal, is_worker), 1);
  result.ran = driver.end();
  result.ran.out = begin + result.ran.out;
  result.left_behind = driver.left_behind(10);
  return result;
}

TEST(Worker, KilledOrStoppedFromOutsideFailsOneCaseAndTheCampaignComesToItsEnd) {
  for (const std::string world : {"sim", "threads"}) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
      const Disturbed result = disturbed_campaign(world, signal);
      EXPECT_EQ(result.ran.exit_code, 4) << world << result.ran.err;  // it does not fail again
      EXPECT_EQ(result.left_behind, "");
      const std::vector<json> all = json_lines(result.ran.out);
      const std::string expected = signal == SIGKILL ? "killed by signal 9" : "no answer in";
      int disturbed = 0;
      for (const json& each : only_events(all, "case")) {
        if (each["verdict"] == "pass") continue;
        const std::string detail = each["detail"];
        const bool late =
            detail.find("deadline") != std::string::npos || detail.find("no answer in") != std::string::npos;
        if (detail.find(expected) != std::string::npos) {
          EXPECT_EQ(each["verdict"], signal == SIGKILL ? "crash" : "hang");
          ++disturbed;
        } else {
          EXPECT_TRUE(late) << each;  // a busy machine may miss the short deadline by itself
        }
      }
      EXPECT_GE(disturbed, 1);
      EXPECT_TRUE(signal == SIGSTOP || disturbed == 1) << disturbed;
      EXPECT_EQ(only_events(all, "case").size(), 2'000U);
    }
  }
}

TEST(Worker, ThatDoesNotComeUpEndsInOneClearLineAndExitCodeThree) {
  const std::vector<std::pair<std::string, std::string>> launches{
      {"no-such-launcher", "no-such-launcher"},
      {"false", "false exited with code 1"},
      {"sh -c 'exec sleep 1000'", "sh did not come up in 0.2 s"},
      {"sh -c 'echo the queue is closed; exit 7'", "exited with code 7: the queue is closed"},
  };
  for (const auto& [launch, said] : launches) {
    for (const Words& command : {Words{"run", even_text}, Words{"fuzz", "--cases", "5", "--quiet", "--seed", "1"}}) {
      const CleanRan result = run_watched(words_and(command, {"--launch", launch, "--start-timeout", "0.2"}));
      EXPECT_EQ(result.ran.exit_code, 3) << launch << "\n" << result.ran.out;
      EXPECT_EQ(result.left_behind, "");
      const std::vector<std::string> lines = lines_of(result.ran.err);
      ASSERT_GE(lines.size(), 1U);
      EXPECT_NE(lines[0].find(said), std::string::npos) << lines[0];
      EXPECT_LE(lines.size(), 2U) << result.ran.err;  // the second says what to do
    }
  }
}

TEST(Worker, ThatHasComeUpBeforeIsWaitedForWhileItsLauncherFails) {
  const Folder folder;
  const std::string count = folder.file("starts", "0");
  WorkerOptions options = worker_options();
  // Like a host that is cut off for a while: the first start works, the next six do not.
  options.launch = {"sh", "-c",
                    "starts=$(cat '" + count + "'); echo $((starts + 1)) > '" + count +
                        "'; [ $starts -eq 0 ] || [ $starts -gt 6 ] || exit 1; exec \"$0\" \"$@\""};
  const MakeRunner make_runner = worker_runners(options);
  const Result<std::unique_ptr<Runner>> runner = make_runner(misbehaving_subject("crash"));
  ASSERT_TRUE(runner.ok()) << runner.error().reason;
  EXPECT_EQ((*runner)->run(*parse_case(uneven_text))->kind, VerdictKind::crash);
  const Result<Verdict> verdict = (*runner)->run(*parse_case(even_text));
  ASSERT_TRUE(verdict.ok()) << verdict.error().reason;
  EXPECT_EQ(verdict->kind, VerdictKind::pass);
  EXPECT_EQ(read_file(count), "8\n");
  EXPECT_FALSE((*runner)->broken());
}

TEST(Worker, OnTheThreadsWorldSaysTheSameOfTheDataAsSim) {
  const Words command{
      "run",   "u8[5] 2x2@0 S(0),S(0) -> 1@4 R", "u8[9,4] 4@0 S(0) -> 2x2@4 S(1),R", "--subject", "mutant:flat-chunk",
      "--json"};
  const Ran sim = run_binary(command);
  const CleanRan threads = run_watched(words_and(command, {"--world", "threads"}));
  EXPECT_EQ(threads.left_behind, "");
  const std::vector<json> expected = json_lines(sim.out);
  const std::vector<json> got = json_lines(threads.ran.out);
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i]["verdict"], expected[i]["verdict"]);
    EXPECT_EQ(got[i].value("wrong", json()), expected[i].value("wrong", json()));
  }
  EXPECT_EQ(threads.ran.exit_code, sim.exit_code);
}

}  // namespace
}  // namespace reshardcheck::cli_test
