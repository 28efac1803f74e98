// Goal: the mpi world judges as sim does, and a rank that is killed, stopped, gone or in error is a verdict after which
// the next case passes. Method: the real binary with mpirun, layouts of the public M2N suite in small, mutants whose
// wrong data depends on the case alone, signals to the processes of ranks.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "core/layout/notation.h"
#include "fuzz/corpus.h"
#include "tests/cli/driver.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

std::string mpirun(int processes) { return "mpirun --oversubscribe -np " + std::to_string(processes); }

/// The cases of the M2N suite for so many ranks, their tensors made small; every `stride`-th of the different ones.
std::string m2n_cases(const Folder& folder, int world_ranks, std::size_t stride) {
  const Result<std::vector<FileCase>> all = read_cases(RESHARDCHECK_SOURCE_DIR "/golden/m2n_matrix.cases");
  EXPECT_TRUE(all.ok());
  std::string text;
  std::size_t different = 0;
  for (const FileCase& each : *all) {
    if (each.value.world_ranks() != world_ranks) continue;
    const std::size_t shape_end = each.text.find(']');
    std::string small = each.text.substr(0, shape_end);
    small = std::regex_replace(small, std::regex("([[,])[0-9]{2,}"), "$0148") + each.text.substr(shape_end);
    if (text.find(small + "\n") != std::string::npos || different++ % stride != 0) continue;
    text += small + "\n";
  }
  return folder.file("m2n-" + std::to_string(world_ranks) + ".case", text);
}

/// Runs cases on sim and on mpi and holds the verdicts and the wrong elements against each other.
void expect_same_verdicts(const Words& arguments, int processes, bool all_pass) {
  Words sim{"run", "--json"};
  sim.insert(sim.end(), arguments.begin(), arguments.end());
  Words mpi = sim;
  mpi.insert(mpi.end(), {"--world", "mpi", "--launch", mpirun(processes)});
  const Ran expected_run = run_binary(sim);
  const CleanRan got_run = run_watched(mpi);
  const std::vector<json> expected = json_lines(expected_run.out);
  const std::vector<json> got = json_lines(got_run.ran.out);
  EXPECT_EQ(got_run.left_behind, "");
  EXPECT_EQ(got_run.ran.exit_code, expected_run.exit_code) << got_run.ran.err;
  ASSERT_EQ(got.size(), expected.size()) << got_run.ran.err;
  ASSERT_FALSE(got.empty());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i]["verdict"], expected[i]["verdict"]) << got[i] << "\n" << expected[i];
    EXPECT_EQ(got[i].value("wrong", json()), expected[i].value("wrong", json())) << got[i] << "\n" << expected[i];
    if (all_pass) {
      EXPECT_EQ(got[i]["verdict"], "pass") << got[i];
    }
  }
}

TEST(Distributed, TheM2NLayoutsPassOnEightAndSixteenProcesses) {
  const Folder folder;
  expect_same_verdicts({m2n_cases(folder, 8, 1)}, 8, true);
  expect_same_verdicts({m2n_cases(folder, 16, 4)}, 16, true);
}

TEST(Distributed, MutantsGetTheVerdictsOfSimWithTheSameWrongElements) {
  const Folder folder;
  // What these do wrong depends on the case alone: not on timing, not on what ranks of one process share.
  const Words mutants{
      "flat-chunk",       "balanced-as-chunk", "floor-offset", "keep-padding",     "empty-offset",    "axis-order",
      "strided-as-plain", "segments-as-plain", "segment-swap", "floor-remainder",  "size-one-axis",   "shard-zero",
      "orphan-experts",   "rank-arithmetic",   "role-by-half", "transpose-square", "replica-merge",   "overrun",
      "scribble-source",  "nan-canonical",     "cast-bf16",    "flush-denormal",   "success-no-data", "last-tensor"};
  const std::string cases = folder.file("mutants.case",
                                        "u8[5] 2x2@0 S(0),S(0) -> 1@4 R\n"
                                        "u8[10] 4@0 S(0,balanced) -> 2@4 S(0)\n"
                                        "u8[10] 4@0 S(0,pad=4) -> 3@4 S(0)\n"
                                        "u8[5] 4@0 S(0) -> 2@4 R\n"
                                        "u8[9,4] 4@0 _S(0,2) -> 2x2@4 S(1),R\n"
                                        "u8[12] 2@0 S(0,segments=4|4|4) -> 4@2 S(0)\n"
                                        "u8[4,4] 2x2@0 S(0),S(1) -> 2x2@4 S(1),S(0)\n"
                                        "u8[6] 1x2@0 R,S(0) -> 2x2@2 S(0),S(0)\n"
                                        "u8[6] 4{7,1,3,5} S(0) -> 2{0,2} S(0)\n"
                                        "u8[6] 2@4 S(0) -> 4@0 S(0)\n"
                                        "f32[8] 2@0 S(0) -> 2@2 S(0) | fill=special\n"
                                        "bf16[8] 2@0 S(0) -> 2@2 S(0) | fill=special\n"
                                        "a = u8[4] 2@0 S(0) -> 2@2 R; b = u8[6] 2@0 S(0) -> 2@2 S(0)\n");
  for (const std::string& mutant : mutants) {
    SCOPED_TRACE(mutant);
    expect_same_verdicts({cases, "--subject", "mutant:" + mutant}, 8, false);
  }
}

constexpr const char* uneven = "u8[3] 1@0 R -> 2@1 S(0)";
constexpr const char* even = "u8[4] 1@0 R -> 2@1 S(0)";

TEST(Distributed, ARankThatFailsByItselfIsItsVerdictAndTheNextCasePasses) {
  const struct {
    const char* what;
    const char* verdict;
    const char* detail;
  } misdeeds[] = {
      {"crash", "crash", "^rank 2 was killed by signal 11 \\(Segmentation fault\\) under mpirun$"},
      {"abort", "crash", "^rank 2 was killed by signal 6 \\(Aborted\\) under mpirun$"},
      {"exit", "crash", "rank 2"},
      {"hang", "hang", "."},
      {"one_rank_error", "disagree", "rank 2 .*told to fail on one rank"},
      {"error", "error", "told to fail"},
  };
  for (const auto& misdeed : misdeeds) {
    const CleanRan result = run_watched({"run", uneven, even, "--subject", misbehaving_subject(misdeed.what),
                                         "--case-timeout", "4", "--world", "mpi", "--launch", mpirun(4), "--json"});
    EXPECT_EQ(result.ran.exit_code, 1) << result.ran.err;
    EXPECT_EQ(result.left_behind, "") << misdeed.what;
    const std::vector<json> cases = json_lines(result.ran.out);
    ASSERT_EQ(cases.size(), 2U) << result.ran.err;
    EXPECT_EQ(cases[0]["verdict"], misdeed.verdict) << cases[0];
    const std::string detail = cases[0]["detail"];
    EXPECT_TRUE(std::regex_search(detail, std::regex(misdeed.detail))) << detail;
    EXPECT_EQ(cases[1]["verdict"], "pass") << cases[1];
  }
}

/// A campaign on the reference, one rank of which gets a signal after the tenth case.
struct DisturbedCampaign {
  Ran ran;
  std::vector<json> failed;  // cases
  json end;
  std::string left_behind;
};
DisturbedCampaign disturbed_campaign(int signal, int rank) {
  // More cases than fit into the channel, so that the campaign cannot be over before the signal.
  Driver driver({"fuzz", "--world", "mpi", "--launch", mpirun(4), "--cases", "1500", "--seed", "6", "--json",
                 "--stop-after", "0", "--case-timeout", "4"});
  std::string begin;
  for (int lines = 0; lines < 11; ++lines) begin += driver.next_line().value_or("nothing") + "\n";
  const auto is_rank = [rank](const MarkedProcess& process) { return process.mpi_rank == rank; };
  EXPECT_EQ(signal_started(driver, signal, is_rank), 1);
  DisturbedCampaign result;
  result.ran = driver.end();
  result.left_behind = driver.left_behind(20);
  for (const json& each : json_lines(begin + result.ran.out)) {
    if (each["event"] == "case" && each["verdict"] != "pass") result.failed.push_back(each);
    if (each["event"] == "end") result.end = each;
  }
  return result;
}

TEST(Distributed, ARankKilledOrStoppedFromOutsideFailsOneCaseAndTheCampaignComesToItsEnd) {
  for (const auto& [signal, rank] : {std::pair(SIGKILL, 2), std::pair(SIGSTOP, 0), std::pair(SIGSTOP, 2)}) {
    const DisturbedCampaign result = disturbed_campaign(signal, rank);
    EXPECT_EQ(result.ran.exit_code, 4) << result.ran.err;  // it does not fail again
    EXPECT_EQ(result.left_behind, "");
    ASSERT_EQ(result.failed.size(), 1U) << ::testing::PrintToString(result.failed) << result.end;
    EXPECT_EQ(result.failed[0]["verdict"], signal == SIGKILL ? "crash" : "hang") << result.failed[0];
    if (signal == SIGKILL) {
      EXPECT_EQ(result.failed[0]["detail"], "rank 2 was killed by signal 9 (Killed) under mpirun");
    }
    EXPECT_EQ(result.end["verdicts"]["pass"], 1'499);
  }
}

TEST(Distributed, ADriverThatIsKilledWhileARankHangsLeavesNoRankBehind) {
  const Folder folder;
  const HangingCampaign hanging =
      hanging_campaign(folder.path("out"), {"--world", "mpi", "--launch", mpirun(4), "--subject-output", "/dev/null"});
  ASSERT_NE(hanging.text, "");
  hanging.driver->kill_alone();
  EXPECT_EQ(hanging.driver->left_behind(30), "");
}

TEST(Distributed, ACaseOfMoreRanksThanProcessesIsRefusedInOneLine) {
  const CleanRan result = run_watched({"run", "u8[8] 4@0 S(0) -> 4@4 S(0)", "--world", "mpi", "--launch", mpirun(4)});
  EXPECT_EQ(result.ran.exit_code, 2);
  EXPECT_NE(result.ran.err.find("the case has 8 ranks, this world holds 4"), std::string::npos) << result.ran.err;
  EXPECT_EQ(result.left_behind, "");
}

}  // namespace
}  // namespace reshardcheck::cli_test
