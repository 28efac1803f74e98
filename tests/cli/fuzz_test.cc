// fuzz: a seed says the same twice, a seeded bug is found and can be replayed from its file.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/binary.h"
#include "tests/cli/driver.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

/// JSON lines without the members that tell time.
std::vector<json> timeless(const std::string& out) {
  std::vector<json> result = json_lines(out);
  for (json& value : result) {
    for (const char* const key : {"elapsed_us", "elapsed_ms", "elapsed_seconds", "cases_per_second"}) value.erase(key);
  }
  return result;
}

TEST(Fuzz, OfTheReferenceIsCleanAndTheSameSeedPrintsTheSame) {
  const std::vector<std::string> command = {"fuzz", "--cases", "300", "--seed", "7", "--json"};
  const Ran first = run_binary(command);
  const Ran second = run_binary(command);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(timeless(first.out), timeless(second.out));
  EXPECT_GE(lines_of(first.out).size(), 300U);
}

TEST(Fuzz, OfAnotherSeedTriesOtherCases) {
  const Ran first = run_binary({"fuzz", "--cases", "20", "--seed", "1", "--json"});
  const Ran second = run_binary({"fuzz", "--cases", "20", "--seed", "2", "--json"});
  EXPECT_NE(timeless(first.out), timeless(second.out));
}

TEST(Fuzz, PrintsItsSeedFirstAndACommandLast) {
  const Ran ran = run_binary({"fuzz", "--cases", "20", "--seed", "4242", "--quiet"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_NE(lines.front().find("4242"), std::string::npos) << ran.out;
  EXPECT_NE(lines.back().find("reshardcheck "), std::string::npos) << ran.out;
}

TEST(Fuzz, EndsWithACommandThatSaysTheSameAgain) {
  const std::vector<std::vector<std::string>> flags = {{"--max-bytes", "8M"},
                                                       {"--oracles", "all"},
                                                       {"--oracles", "naive,relations"},
                                                       {"--oracles", "none"},
                                                       {"--ranks", "3..40"},
                                                       {"--max-dims", "6"},
                                                       {"--max-axes", "5"},
                                                       {"--max-tensors", "12"},
                                                       {"--max-extent", "100"},
                                                       {}};
  for (const std::vector<std::string>& each : flags) {
    std::vector<std::string> command = {"fuzz", "--cases", "200", "--seed", "5", "--quiet"};
    command.insert(command.end(), each.begin(), each.end());
    const Ran first = run_binary(command);
    ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
    const std::string last = lines_of(first.out).back();
    const std::string again =
        last.substr(last.find("again: reshardcheck ") + std::string("again: reshardcheck ").size());
    const std::string flag = each.empty() ? "" : " " + each[0] + " " + each[1];
    EXPECT_EQ(again, "fuzz --subject reference --cases 200 --seed 5" + flag);
    std::istringstream words(again);
    const Ran second = run_binary({std::istream_iterator<std::string>(words), {}});
    EXPECT_EQ(lines_of(second.out).back(), last);
  }
}

TEST(Fuzz, DrawsTensorsOfMoreDimsWhereItIsTold) {
  const Ran usual = run_binary({"fuzz", "--cases", "300", "--seed", "5", "--json"});
  const Ran more = run_binary({"fuzz", "--cases", "300", "--seed", "5", "--json", "--max-dims", "6"});
  const auto most_dims = [](const std::string& out) {
    std::size_t most = 0;
    for (const json& line : json_lines(out)) {
      if (line["event"] != "case") continue;
      const std::string text = line["case"];
      const std::string shape = text.substr(text.find('[') + 1, text.find(']') - text.find('[') - 1);
      most = std::max<std::size_t>(most, shape.empty() ? 0 : 1 + std::count(shape.begin(), shape.end(), ','));
    }
    return most;
  };
  EXPECT_EQ(most_dims(usual.out), 3U);
  EXPECT_EQ(most_dims(more.out), 6U);
}

TEST(Fuzz, PrintsReplaysThatJudgeWithTheSameOracles) {
  const Ran ran = run_binary({"fuzz", "--subject", "mutant:flat-chunk", "--cases", "2000", "--seed", "101", "--quiet",
                              "--oracles", "naive,relations"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_TRUE(lines_of(ran.out).back().ends_with(" --subject mutant:flat-chunk --oracles naive,relations")) << ran.out;
  const std::vector<std::string> failing = {"run", "u8[2] 2x2@0 S(0),S(0) -> 1@4 R", "--subject", "mutant:flat-chunk"};
  for (const std::string oracles : {"data", "all", "none"}) {
    std::vector<std::string> command = failing;
    command.insert(command.end(), {"--oracles", oracles});
    const Ran once = run_binary(command);
    EXPECT_EQ(once.out.find("--oracles") != std::string::npos, oracles == "none") << once.out;
  }
}

TEST(Fuzz, WithAMemoryLimitBelowTheKnownAnswersIsAMistakeThatNamesBoth) {
  const Ran ran = run_binary({"fuzz", "--cases", "10", "--seed", "1", "--max-bytes", "100K"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("102400 are allowed"), std::string::npos) << ran.err;
  const std::string need = "need ";
  const std::string needed = std::to_string(std::stoll(ran.err.substr(ran.err.find(need) + need.size())));
  EXPECT_EQ(run_binary({"fuzz", "--cases", "10", "--seed", "1", "--max-bytes", needed}).exit_code, 0);
}

TEST(Fuzz, ThatIsInterruptedIsNotClean) {
  Driver driver({"fuzz", "--cases", "1000000000", "--seed", "1", "--json"});
  ASSERT_TRUE(driver.next_line());
  kill(driver.id(), SIGINT);
  const Ran ran = driver.end();
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  ASSERT_FALSE(lines_of(ran.out).empty());
  const json last = json::parse(lines_of(ran.out).back());
  EXPECT_EQ(last["event"], "end");
  EXPECT_EQ(last["verdict"], "interrupted");
}

TEST(Fuzz, FindsASeededBugAndWritesAFileThatReplaysIt) {
  const Folder folder;
  const Ran ran = run_binary(
      {"fuzz", "--subject", "mutant:flat-chunk", "--cases", "2000", "--seed", "101", "--out", folder.path("found")});
  EXPECT_EQ(ran.exit_code, 1) << ran.out << ran.err;
  const std::filesystem::path crashing = folder.path("found/crashing");
  ASSERT_TRUE(std::filesystem::is_directory(crashing)) << ran.out;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(crashing)) {
    ++files;
    const std::string file = entry.path().string();
    EXPECT_TRUE(file.ends_with(".case")) << file;
    EXPECT_EQ(run_binary({"run", file, "--subject", "mutant:flat-chunk"}).exit_code, 1) << file;
    EXPECT_EQ(run_binary({"run", file, "--subject", "reference"}).exit_code, 0) << file;
  }
  EXPECT_EQ(files, 1U);
}

TEST(Fuzz, PrintsAReplayOfAFlakyFindingThatFails) {
  const Folder folder;
  const Ran ran = run_binary({"fuzz", "--subject", "mutant:one-in-twenty", "--cases", "500", "--seed", "1", "--json",
                              "--quiet", "--out", folder.path("found")});
  EXPECT_EQ(ran.exit_code, 4) << ran.out << ran.err;
  std::string file;
  for (const json& line : timeless(ran.out)) {
    if (line["event"] != "finding") continue;
    file = line["file"];
    EXPECT_EQ(line["command"], "reshardcheck run " + file + " --subject mutant:one-in-twenty --repeat 40");
  }
  ASSERT_NE(file, "");
  EXPECT_EQ(run_binary({"run", file, "--subject", "mutant:one-in-twenty", "--repeat", "40"}).exit_code, 1);
}

TEST(Fuzz, ObeysTheRangeOfRanks) {
  const Ran ran = run_binary({"fuzz", "--cases", "100", "--seed", "3", "--ranks", "2..5", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::size_t cases = 0;
  for (const json& line : timeless(ran.out)) {
    if (line["event"] != "case") continue;
    ++cases;
    const Ran explained = run_binary({"explain", line["case"].get<std::string>(), "--json"});
    const json picture = json::parse(explained.out);
    for (const json& tensor : picture["tensors"]) {
      EXPECT_LE(tensor["source"]["ranks"].size(), 5U) << line["case"];
      EXPECT_LE(tensor["target"]["ranks"].size(), 5U) << line["case"];
    }
    if (cases == 10) break;
  }
  EXPECT_GT(cases, 0U);
}

TEST(Fuzz, StopsWhenItsSecondsAreOver) {
  const Ran ran = run_binary({"fuzz", "--seconds", "0.2", "--seed", "1", "--quiet"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
}

}  // namespace
}  // namespace reshardcheck::cli_test
