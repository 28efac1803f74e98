// run: the verdicts of cases as exit code, table, JSON and JUnit.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

const std::string good = "bf16[8,8] 2@0 S(0) -> 4@2 S(1)";
// Nested chunks of 5 over 2x2 are 2,1,1,1; the mutant deals out 2,2,1,0.
const std::string caught = "u8[5] 2x2@0 S(0),S(0) -> 1@4 R";
const std::string mutant = "mutant:flat-chunk";

TEST(Run, OfAGoodCaseIsCleanAndSaysPass) {
  const Ran ran = run_binary({"run", good});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_NE(ran.out.find("#wrong"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("pass"), std::string::npos) << ran.out;
  EXPECT_EQ(lines_of(ran.out).back().substr(0, 16), "# 1 case: 1 pass") << ran.out;
}

TEST(Run, OfASeededBugIsAFindingWithSentenceElementsAndCommands) {
  const Ran ran = run_binary({"run", caught, "--subject", mutant});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_NE(ran.out.find("expected 0x"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("replay: reshardcheck run '" + caught + "'"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("shrink: reshardcheck shrink '" + caught + "'"), std::string::npos) << ran.out;
}

TEST(Run, JsonHasTheDocumentedShape) {
  const Ran ran = run_binary({"run", good + " | seed=7", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json pass = json::parse(ran.out);
  EXPECT_EQ(pass["case"], good + " | seed=7");
  EXPECT_EQ(pass["verdict"], "pass");
  EXPECT_EQ(pass["detail"], "");
  EXPECT_EQ(pass["seed"], 7);
  EXPECT_EQ(pass["subject"], "reference");
  EXPECT_EQ(pass["world"], "sim");
  EXPECT_TRUE(pass["elapsed_us"].is_number_integer());
  EXPECT_FALSE(pass.contains("wrong"));

  const Ran failed = run_binary({"run", caught, "--subject", mutant, "--json"});
  ASSERT_EQ(failed.exit_code, 1) << failed.err;
  const json failure = json::parse(failed.out);
  EXPECT_NE(failure["verdict"], "pass");
  EXPECT_NE(failure["detail"], "");
  ASSERT_FALSE(failure["wrong"].empty());
  for (const char* const key : {"tensor", "rank", "local", "global", "expected", "got"}) {
    EXPECT_TRUE(failure["wrong"][0].contains(key)) << key;
  }
}

TEST(Run, ReadsTextFilesJsonFilesDirectoriesAndStandardInput) {
  const Folder folder;
  const std::string text = folder.file("a.case", "# comment\n" + good + "\n\n  " + caught + "  \n");
  const Ran as_json = run_binary({"run", text, "--json"});
  ASSERT_EQ(as_json.exit_code, 0) << as_json.err;
  EXPECT_EQ(lines_of(as_json.out).size(), 2U);
  // What a run prints as JSON can be run again.
  const std::string printed = folder.file("printed.jsonl", as_json.out);
  EXPECT_EQ(lines_of(run_binary({"run", printed, "--json"}).out).size(), 2U);
  const std::string value =
      R"json({"tensors":[{"dtype":"u8","shape":[4],"source":{"mesh":[2],"ranks":[0,1],"placements":["S(0)"]},
                          "target":{"mesh":[1],"ranks":[2],"placements":["R"]}}]})json";
  EXPECT_EQ(run_binary({"run", value}).exit_code, 0);
  EXPECT_EQ(run_binary({"run", folder.file("one.json", value)}).exit_code, 0);
  EXPECT_EQ(
      lines_of(run_binary({"run", folder.file("two.json", "[" + value + "," + value + "]"), "--json"}).out).size(), 2U);
  EXPECT_EQ(lines_of(run_binary({"run", folder.path(), "--json"}).out).size(), 2U);
  EXPECT_EQ(lines_of(run_binary({"run", "-", "--json"}, good + "\n" + good + "\n").out).size(), 2U);
}

TEST(Run, PassesOverWhatIsNoFileInADirectoryAndReadsPipesOfItsOwnOnly) {
  const Folder folder;
  const std::string pipe = folder.path("pipe.case");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_directory(folder.path("folder.case"));
  folder.file("folder.case/inside.case", good + "\n");
  const Ran whole = run_binary({"run", folder.path(), "--json"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(lines_of(whole.out).size(), 1U);
  for (const std::string& special : {pipe, std::string("/dev/zero")}) {
    const Ran refused = run_binary({"run", special});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find(special + ": neither a file nor a directory"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(lines_of(run_binary({"run", "/dev/stdin", "--json"}, good + "\n").out).size(), 1U);
  const std::string command = std::string("echo '") + good + "' | '" + RESHARDCHECK_BINARY + "' run /dev/stdin --quiet";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Run, ReadsFilesThatBeginWithAByteOrderMark) {
  const Folder folder;
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(run_binary({"run", folder.file("a.case", mark + good + "\n")}).exit_code, 0);
  const std::string value = R"json({"case":")json" + good + R"json("})json";
  EXPECT_EQ(run_binary({"run", folder.file("a.json", mark + value)}).exit_code, 0);
  EXPECT_EQ(run_binary({"run", "-"}, mark + value + "\n").exit_code, 0);
}

TEST(Run, QuietPrintsFailingCasesOnly) {
  EXPECT_EQ(run_binary({"run", good, "--quiet"}).out, "");
  const Ran ran = run_binary({"run", good, caught, "--quiet", "--subject", mutant});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out.find(good), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(caught), std::string::npos) << ran.out;
}

TEST(Run, RepeatsACaseUntilItFails) {
  const std::vector<std::string> once = {"run", good, "--subject", "mutant:one-in-twenty"};
  EXPECT_EQ(run_binary(once).exit_code, 0);
  std::vector<std::string> repeated = once;
  repeated.insert(repeated.end(), {"--repeat", "40"});
  const Ran ran = run_binary(repeated);
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("# 1 case: 1 mismatch"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("replay: reshardcheck run '" + good + "' --subject mutant:one-in-twenty --repeat 40"),
            std::string::npos)
      << ran.out;
  EXPECT_EQ(run_binary({"run", good, caught, "--repeat", "3", "--json"}).exit_code, 0);
}

TEST(Run, WritesJunitThatIsWellFormed) {
  const Folder folder;
  const std::string file = folder.path("results.xml");
  const Ran ran = run_binary({"run", good, caught, "--subject", mutant, "--junit", file});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  const std::string xml = read_file(file);
  EXPECT_EQ(xml_problem(xml), "") << xml;
  EXPECT_NE(xml.find("tests=\"2\" failures=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<failure type="), std::string::npos) << xml;
  EXPECT_EQ(run_binary({"run", good, "--junit", folder.path("no/folder.xml")}).exit_code, 3);
}

TEST(Run, HasNoColourCodesWhereOutputIsNoTerminal) {
  const Ran ran = run_binary({"run", caught, "--subject", mutant});
  EXPECT_EQ(ran.out.find('\033'), std::string::npos);
  EXPECT_EQ(ran.err.find('\033'), std::string::npos);
}

TEST(Run, PassesWithFewerOraclesToo) {
  for (const std::string oracles : {"none", "naive", "gather_broadcast,prover", "all"}) {
    EXPECT_EQ(run_binary({"run", good, "--oracles", oracles}).exit_code, 0) << oracles;
  }
}

TEST(Run, PassesTheSmallLayoutsOfTheM2nMatrix) {
  const std::string golden = std::string(RESHARDCHECK_SOURCE_DIR) + "/golden/m2n_matrix.cases";
  std::string small;
  for (const std::string& line : lines_of(read_file(golden))) {
    const bool is_case = !line.empty() && line[0] != '#';
    if (is_case && line.find("3072") == std::string::npos && line.find("1048576") == std::string::npos &&
        line.find("4194304") == std::string::npos) {
      small += line + "\n";
    }
  }
  const Ran ran = run_binary({"run", "-", "--quiet", "--oracles", "none"}, small);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
}

TEST(Run, WithoutStandardStreamsPrintsIntoNothingElseAndSaysSo) {
  for (const std::string closed : {"<&- >&- 2>/dev/null", "<&- >&- 2>&-", ">&- 2>/dev/null"}) {
    const std::string command = std::string("'") + RESHARDCHECK_BINARY + "' run '" + good + "' --isolate " + closed;
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 3) << command;
  }
}

TEST(Run, OfAProcessThatDoesNotComeUpSaysWhatItPrinted) {
  const Ran ran = run_binary({"run", good, "--subject", "proc:sh -c 'echo no module named numpy >&2; exit 1'"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("exited with code 1"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("it printed: no module named numpy"), std::string::npos) << ran.err;
}

TEST(Shrink, GivesTheSmallestFormOfAFailureAndTheCommandToReplayIt) {
  const std::string large = "bf16[5,9] 2x2x2@0 S(0),S(0),R -> 3@8 S(1)";
  const Ran ran = run_binary({"shrink", large, "--subject", mutant, "--json"});
  ASSERT_EQ(ran.exit_code, 1) << ran.err;
  const json minimal = json::parse(lines_of(ran.out).back());
  EXPECT_EQ(minimal["event"], "minimal");
  EXPECT_EQ(minimal["one_minimal"], true);
  EXPECT_LT(minimal["case"].get<std::string>().size(), large.size());
  EXPECT_EQ(run_binary({"run", minimal["case"], "--subject", mutant}).exit_code, 1);
  EXPECT_EQ(run_binary({"run", minimal["case"]}).exit_code, 0);
  // Text and JSON tell of the same case.
  const Ran text = run_binary({"shrink", large, "--subject", mutant});
  EXPECT_NE(text.out.find("reshardcheck run '" + minimal["case"].get<std::string>() + "'"), std::string::npos)
      << text.out;
}

TEST(Shrink, OfAPassingCaseSaysSoAndIsClean) {
  const Ran ran = run_binary({"shrink", good});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("passes: " + good)) << ran.out;
}

}  // namespace
}  // namespace reshardcheck::cli_test
