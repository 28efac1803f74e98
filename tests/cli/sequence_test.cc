// Sequences on the command line: searched, run, shrunk and replayed like cases, and refused where one case is wanted.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

// The mutant keeps a plan by layout and forgets that the shape matters.
const std::string forgetful = "mutant:cache-shape";
const std::string two_steps = "u8[4] 2@0 S(0) -> 1@2 R >> u8[6] 2@0 S(0) -> 1@2 R";
const std::string three_steps = "u8[3] 1@0 R -> 1@1 R >> u8[9] 2@0 S(0) -> 1@2 R >> u8[14] 2@0 S(0) -> 1@2 R | seed=3";

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(RunOfASequence, NamesTheStepThatFailsAndTheCommandsToGoOnWith) {
  EXPECT_EQ(run_binary({"run", two_steps}).exit_code, 0);
  const Ran ran = run_binary({"run", two_steps, "--subject", forgetful});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  for (const std::string& part :
       {std::string("step 2 of 2: rank "), two_steps, "replay: reshardcheck run '" + two_steps + "'",
        "shrink: reshardcheck shrink '" + two_steps + "'"}) {
    EXPECT_TRUE(says(ran.out, part)) << part << "\nis not in\n" << ran.out;
  }
}

TEST(RunOfASequence, PrintsTheWholeLineAndTheStepAsJsonThatRunsAgain) {
  const Ran ran = run_binary({"run", three_steps, "--subject", forgetful, "--json"});
  ASSERT_EQ(ran.exit_code, 1) << ran.err;
  const json failure = json::parse(ran.out);
  EXPECT_EQ(failure["case"], three_steps);
  EXPECT_EQ(failure["step"], 3);
  EXPECT_FALSE(failure["wrong"].empty());
  EXPECT_EQ(run_binary({"run", "-", "--subject", forgetful, "--json"}, ran.out).exit_code, 1);
  EXPECT_FALSE(json::parse(run_binary({"run", "u8[4] 2@0 S(0) -> 1@2 R", "--json"}).out).contains("step"));
}

TEST(RunOfASequence, StandsInFilesBesideCases) {
  const Folder folder;
  const std::string file = folder.file("a.case", "# both\nu8[4] 2@0 S(0) -> 1@2 R\n" + two_steps + "\n");
  const Ran ran = run_binary({"run", file, "--subject", forgetful, "--json"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(json::parse(lines[0])["verdict"], "pass");
  EXPECT_EQ(json::parse(lines[1])["step"], 2);
}

TEST(RunOfASequence, SaysWhereALineIsWrong) {
  const Ran ran = run_binary({"run", "u8[4] 1@0 R -> 1@1 R >> u8[4] 1@0 X -> 1@1 R"});
  EXPECT_EQ(ran.exit_code, 2);
  const std::vector<std::string> lines = lines_of(ran.err);
  ASSERT_GE(lines.size(), 3U) << ran.err;
  EXPECT_EQ(lines[2].find('^'), lines[1].find('X')) << ran.err;
}

TEST(ShrinkOfASequence, EndsInTheFewestSteps) {
  const Ran ran = run_binary({"shrink", three_steps, "--subject", forgetful, "--json"});
  ASSERT_EQ(ran.exit_code, 1) << ran.err;
  const json minimal = json::parse(lines_of(ran.out).back());
  EXPECT_EQ(minimal["event"], "minimal");
  EXPECT_EQ(minimal["one_minimal"], true);
  EXPECT_EQ(minimal["step"], 2);
  EXPECT_EQ(run_binary({"run", minimal["case"], "--subject", forgetful}).exit_code, 1);
}

TEST(FuzzOfSequences, FindsStateThatOutlivesACaseAndWritesAFileThatReplaysIt) {
  const Folder folder;
  const Ran ran = run_binary(
      {"fuzz", "--sequences", "--subject", forgetful, "--cases", "2000", "--seed", "1", "--out", folder.path("found")});
  EXPECT_EQ(ran.exit_code, 1) << ran.out << ran.err;
  EXPECT_TRUE(says(lines_of(ran.out).front(), "2000 sequences")) << ran.out;
  EXPECT_TRUE(says(ran.out, "smaller: ")) << ran.out;
  EXPECT_TRUE(says(lines_of(ran.out).back(), "reshardcheck run " + folder.path("found"))) << ran.out;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("found/crashing"))) {
    ++files;
    const std::string file = entry.path().string();
    EXPECT_TRUE(says(lines_of(read_file(file)).back(), " >> ")) << read_file(file);
    EXPECT_EQ(run_binary({"run", file, "--subject", forgetful}).exit_code, 1) << file;
    EXPECT_EQ(run_binary({"run", file, "--subject", "reference"}).exit_code, 0) << file;
  }
  EXPECT_EQ(files, 1U);
}

TEST(FuzzOfSequences, IsCleanOnTheReferenceAndSaysHowToRunItAgain) {
  const std::vector<std::string> command = {"fuzz", "--sequences", "--cases", "60", "--seed", "7", "--quiet"};
  const Ran first = run_binary(command);
  EXPECT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_TRUE(says(lines_of(first.out).back(), "reshardcheck fuzz --sequences --subject reference --cases 60 --seed 7"))
      << first.out;
  EXPECT_EQ(run_binary(command).out, first.out);
}

TEST(CommandsForOneCase, RefuseASequenceInOneClearLine) {
  for (const std::string command : {"explain", "prove"}) {
    const Ran ran = run_binary({command, two_steps});
    EXPECT_EQ(ran.exit_code, 2) << command;
    EXPECT_TRUE(says(ran.err, "a sequence of 2 steps; this command takes one case at a time")) << ran.err;
  }
}

TEST(Regression, IsAFolderThatRunsAsAWhole) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("regression/deeper"));
  folder.file("regression/a.case", two_steps + "\n");
  folder.file("regression/deeper/b.case", "u8[5] 2x2@0 S(0),S(0) -> 1@4 R\n");
  folder.file("regression/notes.txt", "no case\n");
  const Ran ran = run_binary({"run", folder.path("regression")});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_TRUE(says(ran.out, "a.case:1")) << ran.out;
  EXPECT_TRUE(says(ran.out, "# 2 cases: 2 pass")) << ran.out;
  const Ran back = run_binary({"run", folder.path("regression"), "--subject", forgetful, "--json"});
  EXPECT_EQ(back.exit_code, 1);
  EXPECT_TRUE(json::parse(lines_of(back.out).front())["place"].get<std::string>().ends_with("a.case:1")) << back.out;
}

}  // namespace
}  // namespace reshardcheck::cli_test
