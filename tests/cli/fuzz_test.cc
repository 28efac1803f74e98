// fuzz: a seed says the same twice, a seeded bug is found and can be replayed from its file.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

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
