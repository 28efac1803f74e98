// Mistakes are answered with exit code 2, what was wrong, and what to type, in at most four lines.
#include <gtest/gtest.h>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& because) {
  const Ran ran = run_binary(arguments);
  std::string command;
  for (const std::string& each : arguments) command += " " + each;
  EXPECT_EQ(ran.exit_code, 2) << command << "\n" << ran.err;
  EXPECT_EQ(ran.out, "") << command;
  EXPECT_NE(ran.err.find(because), std::string::npos) << command << "\n" << ran.err;
  const std::size_t lines = lines_of(ran.err).size();
  EXPECT_GE(lines, 1U) << command;
  EXPECT_LE(lines, 4U) << command << "\n" << ran.err;
}

TEST(Mistakes, InACaseOfEveryKindAreRefusedInShort) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"bf16[8,8] 2@0 S(2) -> 4@2 S(1)", "dim 2"},
      {"bf16[8,8] 2@0 S(0),R -> 4@2 S(1)", ""},
      {"bf16[8,8] 2{0,0} S(0) -> 4@2 S(1)", "rank 0"},
      {"bf17[8,8] 2@0 S(0) -> 4@2 S(1)", "bf17"},
      {"bf16[8,-8] 2@0 S(0) -> 4@2 S(1)", ""},
      {"bf16[8,8] 2@0 S(0) > 4@2 S(1)", "->"},
      {"bf16[7,8] 2@0 S(0,even) -> 4@2 S(1)", "even"},
      {"bf16[8,8] 2@0 S(0,cuts=3|4) -> 4@2 S(1)", "cuts"},
      {"bf16[8,8] 2@0 S(0,segments=3|4) -> 4@2 S(1)", "segments"},
      {"bf16[8,8] 2@0 _S(0,0) -> 4@2 S(1)", "factor"},
      {"bf16[9223372036854775807,9223372036854775807] 2@0 S(0) -> 4@2 S(1)", ""},
      {"bf16[8,8] 99999999999@0 S(0) -> 4@2 S(1)", ""},
      {"bf16[8,8] 100000x100000@0 S(0),S(1) -> 4@2 S(1)", ""},
      {"bf16[8,8] 2@4294967295 S(0) -> 4@2 S(1)", ""},
      {"bf16[8,8] 2@0 S(0) -> 4@2 S(1) via carrier_pigeon", "carrier_pigeon"},
      {"bf16[8,8] 2@0 S(0) -> 4@2 S(1) | domain=0", "domain"},
      {"bf16[8,8] 2@0 S(0) ->", ""},
      {"", ""},
      {"{\"tensors\":[]}", ""},
      {"{\"tensors\":", ""},
  };
  for (const auto& [text, because] : cases) {
    for (const std::string command : {"run", "explain", "prove", "shrink"}) expect_refused({command, text}, because);
  }
}

TEST(Mistakes, InACasePointAtTheirPlace) {
  const Ran ran = run_binary({"run", "bf16[8,8] 2@0 S(2) -> 4@2 S(1)"});
  const std::vector<std::string> lines = lines_of(ran.err);
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[1].substr(lines[2].find('^'), 4), "S(2)") << ran.err;
}

TEST(Mistakes, InAFileNameTheLineAndNothingRuns) {
  const Folder folder;
  const std::string file = folder.file("two.case", "# a comment\n\nu8[4] 2@0 S(0) -> 1@2 R\nu8[4] 2@0 S(0) -> oops\n");
  expect_refused({"run", file}, "two.case:4");
  expect_refused({"run", folder.file("bad.json", "[{\"tensors\": 3}]")}, "bad.json");
  expect_refused({"run", folder.file("empty.case", "# nothing\n")}, "no case");
  const Folder without_cases;
  without_cases.file("notes.txt", "u8[4] 2@0 S(0) -> 1@2 R\n");
  expect_refused({"run", without_cases.path()}, "no case in " + without_cases.path() + "; of a directory, ");
  expect_refused({"run", folder.path("missing.case")}, "no such file");
  expect_refused({"run", "missing"}, "no such file");
}

TEST(Mistakes, OnTheCommandLineAreAnsweredWithWhatWasMeant) {
  expect_refused({}, "Subcommands: run fuzz");
  expect_refused({"rum"}, "did you mean 'run'?");
  expect_refused({"explian", "u8[4] 2@0 S(0) -> 1@2 R"}, "did you mean 'explain'?");
  expect_refused({"run", "--jsn", "u8[4] 2@0 S(0) -> 1@2 R"}, "did you mean '--json'?");
  expect_refused({"--versoin"}, "did you mean '--version'?");
  expect_refused({"u8[4] 2@0 S(0) -> 1@2 R"}, "reshardcheck run 'u8[4] 2@0 S(0) -> 1@2 R'");
  expect_refused({"run", "u8[4]", "2@0", "S(0)", "->", "1@2", "R"}, "in quotes");
  expect_refused({"run"}, "required");
}

TEST(Mistakes, InValuesOfOptionsNameTheOptionAndTheRange) {
  const std::string good = "u8[4] 2@0 S(0) -> 1@2 R";
  expect_refused({"run", good, "--subject", "referense"}, "referense");
  expect_refused({"run", good, "--subject", "lib"}, "lib:FILE");
  expect_refused({"run", good, "--subject", "two\nlines"}, "two?lines");
  expect_refused({"run", good, "--world", "mars"}, "mars");
  expect_refused({"run", good, "--case-timeout", "nan"}, "--case-timeout: 'nan'");
  expect_refused({"run", good, "--case-timeout", "0"}, "0.001 to 1000000");
  expect_refused({"run", good, "--isolate", "--subject-output", "/nowhere/file"}, "/nowhere/file");
  expect_refused({"fuzz", "--seconds", "nan"}, "--seconds");
  expect_refused({"run", good, "--max-bytes", "many"}, "--max-bytes");
  expect_refused({"run", good, "--max-bytes", "99999999999G"}, "--max-bytes");
  expect_refused({"run", good, "--oracles", "delphi"}, "delphi");
  expect_refused({"prove", good, "--planner", "best"}, "best");
  expect_refused({"fuzz", "--cases", "-3"}, "--cases");
  expect_refused({"fuzz", "--cases", "0"}, "--cases");
  expect_refused({"fuzz", "--seed", "lucky"}, "--seed");
  expect_refused({"fuzz", "--ranks", "9..3"}, "--ranks");
  expect_refused({"fuzz", "--cases", "5", "--subject", "mutant:flat-chunc"}, "flat-chunk");
  expect_refused({"explain", good, "--rows", "0"}, "--rows");
}

TEST(Mistakes, OfSizeNameTheBytesThatAreNeeded) {
  const std::string large = "u8[1000000000] 2@0 S(0) -> 2@2 R";
  const Ran ran = run_binary({"run", large, "--max-bytes", "1M"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("1048576"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("GiB"), std::string::npos) << ran.err;
  expect_refused({"run", "u8[1000000000000000000] 2@0 S(0) -> 2@2 R"}, "needs");
}

TEST(Mistakes, OfSizeHintAtALargerLimitOnlyWhereOneHelps) {
  for (const std::string command : {"run", "shrink"}) {
    const Ran no_limit = run_binary({command, "u8[9223372036854775807] 2@0 S(0) -> 1@2 R"});
    EXPECT_EQ(no_limit.exit_code, 2) << command;
    EXPECT_NE(no_limit.err.find("64 bits"), std::string::npos) << no_limit.err;
    EXPECT_EQ(no_limit.err.find("--max-bytes"), std::string::npos) << no_limit.err;
    const Ran larger = run_binary({command, "u8[1000000000] 2@0 S(0) -> 2@2 R", "--max-bytes", "1M"});
    EXPECT_EQ(larger.exit_code, 2) << command;
    EXPECT_NE(larger.err.find("--max-bytes SIZE allows more"), std::string::npos) << larger.err;
  }
}

TEST(Help, OfEverySubcommandHasAnExample) {
  for (const std::string command : {"run", "fuzz", "shrink", "prove", "explain", "subjects"}) {
    const Ran ran = run_binary({command, "--help"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_NE(ran.out.find("reshardcheck " + command), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("Example"), std::string::npos) << command;
  }
  EXPECT_EQ(run_binary({"--help"}).exit_code, 0);
  EXPECT_EQ(run_binary({"doctor", "--help"}).exit_code, 0);
}

TEST(Version, IsOneLine) {
  const Ran ran = run_binary({"--version"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(lines_of(ran.out).size(), 1U);
  EXPECT_TRUE(ran.out.starts_with("reshardcheck "));
}

}  // namespace
}  // namespace reshardcheck::cli_test
