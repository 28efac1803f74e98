// explain shows who owns what: its JSON is held against answers that other systems gave, its pictures against rules.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

const std::string golden = std::string(RESHARDCHECK_SOURCE_DIR) + "/golden/";

/// One process explains a whole golden file: explain takes files whose lines carry a "case".
void expect_owners_of(const std::string& name) {
  const Ran ran = run_binary({"explain", golden + name, "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::vector<std::string> answers = lines_of(ran.out);
  std::ifstream file(golden + name);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line); ++number) {
    ASSERT_LT(number, answers.size());
    const json expected = json::parse(line);
    const json answer = json::parse(answers[number]);
    ASSERT_EQ(answer["tensors"].size(), 1U);
    for (const auto& [key, value] : expected["expect"].items()) {
      EXPECT_EQ(answer["tensors"][0][key], value) << expected["case"] << " " << key;
    }
    EXPECT_TRUE(expected["expect"].contains("source") && expected["expect"].contains("target"));
  }
  EXPECT_EQ(number, answers.size());
  EXPECT_GT(number, 0U);
}

TEST(Explain, GivesTheOwnersThatPyTorchGives) { expect_owners_of("pytorch_layouts.jsonl"); }
TEST(Explain, GivesTheOwnersThatJaxGives) { expect_owners_of("jax_layouts.jsonl"); }
TEST(Explain, GivesTheRightOwnersOfLayoutsFromBugReports) { expect_owners_of("layout_regressions.jsonl"); }

TEST(Explain, JsonHasTheDocumentedShape) {
  const Ran ran = run_binary({"explain", "gate = bf16[3] 2@0 S(0,padded) -> 4@2 S(0)", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out), json::parse(R"json({
    "case": "gate = bf16[3] 2@0 S(0,padded) -> 4@2 S(0)",
    "tensors": [{"name": "gate", "dtype": "bf16", "shape": [3], "path": "reshard",
      "source": {"ranks": [{"rank": 0, "local_shape": [2], "intervals": [[[0, 2]]]},
                           {"rank": 1, "local_shape": [2], "intervals": [[[2, 3]]]}]},
      "target": {"ranks": [{"rank": 2, "local_shape": [1], "intervals": [[[0, 1]]]},
                           {"rank": 3, "local_shape": [1], "intervals": [[[1, 2]]]},
                           {"rank": 4, "local_shape": [1], "intervals": [[[2, 3]]]},
                           {"rank": 5, "local_shape": [0], "intervals": [[]]}]}}]})json"));
}

TEST(Explain, GivesTheCaseBackInCanonicalForm) {
  const Ran ran = run_binary({"explain", " u8[4]   2{0,1} S( 0 , chunk)->1@2 R | seed=0", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out)["case"], "u8[4] 2@0 S(0) -> 1@2 R");
}

/// Every rank that the picture's grid names, with how often.
TEST(Explain, DrawsEachShardOfASmallTensorInItsRegion) {
  const Ran ran = run_binary({"explain", "u8[4,4] 2x2@0 S(0),S(1) -> 1@4 R"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("|  0  |  1  |"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("|  2  |  3  |"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("rank 3 -> rank 4"), std::string::npos) << ran.out;
}

TEST(Explain, SaysThatAnEmptyShardHoldsNothing) {
  const Ran ran = run_binary({"explain", "u8[1] 2@0 S(0) -> 1@2 R"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("nothing"), std::string::npos) << ran.out;
}

TEST(Explain, DescribesScalarsEmptyTensorsAndManyDims) {
  for (const std::string text : {"u8[] 2@0 R -> 1@2 R", "u8[0,3] 2@0 S(0) -> 1@2 R", "u8[3,0] 2@0 S(0) -> 1@2 S(1)",
                                 "u8[2,3,4,5] 2x2@0 S(0),S(3) -> 2x2@4 S(1),S(2)"}) {
    const Ran ran = run_binary({"explain", text});
    EXPECT_EQ(ran.exit_code, 0) << text << "\n" << ran.err;
    EXPECT_NE(ran.out.find("moves"), std::string::npos) << ran.out;
  }
}

TEST(Explain, BoundsWhatItListsOfManyRanks) {
  const Ran ran = run_binary({"explain", "u8[4096] 1024@0 S(0) -> 1024@1024 S(0)", "--rows", "4"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_LT(lines_of(ran.out).size(), 40U);
  EXPECT_NE(ran.out.find("and 1020 more"), std::string::npos) << ran.out;
}

TEST(Explain, WritesSvgThatIsWellFormed) {
  const Folder folder;
  for (const std::string text :
       {"bf16[12,10] 2x2@0 S(0),S(1) -> 3@4 S(1) ; u8[] 2@0 R -> 1@2 R ; u8[0] 2@0 S(0) -> 1@2 R",
        "u8[5,7,9] 2x2@0 S(0),S(1) -> 3@4 S(2) | domain=2", "u8[100000] 300@0 S(0) -> 7@300 S(0)",
        "u8[9000,9000] 90@0 S(0) -> 90@90 S(1)"}) {
    const std::string file = folder.path("picture.svg");
    const Ran ran = run_binary({"explain", text, "--svg", file});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const std::string svg = read_file(file);
    EXPECT_EQ(xml_problem(svg), "") << text;
    EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
}

TEST(Explain, FailsWithThreeWhereThePictureCannotBeWritten) {
  const Ran ran = run_binary({"explain", "u8[4] 2@0 S(0) -> 1@2 R", "--svg", "/nonexistent/folder/x.svg"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_NE(ran.err.find("/nonexistent/folder/x.svg"), std::string::npos) << ran.err;
}

TEST(XmlProblem, IsSeenInTextThatIsNotWellFormed) {
  for (const std::string text : {"", "<a>", "<a></b>", "<a b=c/>", "<a b=\"<\"/>", "<a>&x;</a>", "<a/><b/>", "<a"}) {
    EXPECT_NE(xml_problem(text), "") << text;
  }
  EXPECT_EQ(xml_problem("<?xml version=\"1.0\"?>\n<a b=\"c &amp; d\"><e/>text</a>\n"), "");
}

}  // namespace
}  // namespace reshardcheck::cli_test
