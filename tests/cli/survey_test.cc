// prove, subjects and doctor: what the binary says of plans, of what it can judge, and of itself.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

TEST(Prove, ProvesEveryPlannerAndNoneMovesLessThanTheBound) {
  const std::string text = "bf16[96,64] 8@0 S(0) -> 2x4@8 R,S(1) | domain=4";
  const Ran ran = run_binary({"prove", text, "--planner", "all", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::set<std::string> planners;
  for (const std::string& line : lines_of(ran.out)) {
    const json plan = json::parse(line);
    planners.insert(plan["planner"]);
    EXPECT_EQ(plan["case"], text);
    EXPECT_EQ(plan["proved"], true) << line;
    EXPECT_GE(plan["across_domains_bytes"], plan["across_domains_bound_bytes"]) << line;
    EXPECT_TRUE(plan["violations"].empty());
  }
  EXPECT_EQ(planners, (std::set<std::string>{"direct", "gather_broadcast", "replica_aware"}));
}

TEST(Prove, TakesThePlannerFromThePathOfEachTensor) {
  const Ran ran =
      run_binary({"prove", "u8[4] 2@0 S(0) -> 1@2 R ; u8[4] 2@0 S(0) -> 1@2 R via gather_broadcast", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(json::parse(lines[0])["planner"], "replica_aware");
  EXPECT_EQ(json::parse(lines[1])["planner"], "gather_broadcast");
}

TEST(Prove, ProvesTheWholeM2nMatrixAtTheSizesGiven) {
  const Ran ran = run_binary({"prove", std::string(RESHARDCHECK_SOURCE_DIR) + "/golden/m2n_matrix.cases"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(lines_of(ran.out).back(), "384 of 384 plans proved");
}

TEST(Subjects, ListsReferencesThatPassAndMutantsThatNameTheirOrigin) {
  const Ran ran = run_binary({"subjects", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::set<std::string> names;
  for (const std::string& line : lines_of(ran.out)) {
    const json subject = json::parse(line);
    const std::string name = subject["name"];
    names.insert(name);
    EXPECT_NE(subject["what"], "") << line;
    EXPECT_EQ(name.starts_with("reference"), subject["expected"] == "pass") << line;
  }
  for (const char* const name : {"reference", "reference:direct", "reference:gather_broadcast", "mutant:flat-chunk",
                                 "mutant:lost-send", "mutant:scribble-source"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(lines_of(run_binary({"subjects"}).out).size(), names.size() + 1);
}

TEST(Doctor, FindsTheInstallationFitAndTestsTheTester) {
  const Ran ran = run_binary({"doctor", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  std::set<std::string> parts;
  for (const std::string& line : lines_of(ran.out)) {
    const json part = json::parse(line);
    parts.insert(part.value("part", "the whole"));
    EXPECT_TRUE(part.value("fit", true)) << line;
  }
  for (const char* const part : {"build", "cores", "memory", "world sim", "known good", "canary"}) {
    EXPECT_TRUE(parts.contains(part)) << part;
  }
  EXPECT_EQ(run_binary({"doctor"}).exit_code, 0);
}

}  // namespace
}  // namespace reshardcheck::cli_test
