// Goal: from files to exit code, as an operator would use it after a refit: train side against inference side.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

/// A safetensors file with one u8 tensor "w".
std::string safetensors(const std::string& shape, const std::string& bytes) {
  const std::string header =
      R"({"w":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[0,)" + std::to_string(bytes.size()) + "]}}";
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 255);
  return text + header + bytes;
}

struct Sides {
  Folder folder;
  std::string whole = folder.file("whole.safetensors", safetensors("[4,2]", "abcdefgh"));
  std::string top = folder.file("top.safetensors", safetensors("[2,2]", "abcd"));
  std::string bottom = folder.file("bottom.safetensors", safetensors("[2,2]", "efgh"));
  std::string wrong = folder.file("wrong.safetensors", safetensors("[2,2]", "efgx"));
};

TEST(FingerprintCommand, TwoSidesThatAgreeExitZero) {
  const Sides sides;
  const Ran ran =
      run_binary({"fingerprint", sides.top, sides.bottom, "--layout", "w=2@0 S(0)", "--against", sides.whole});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("no difference"), std::string::npos) << ran.out;
}

TEST(FingerprintCommand, ADifferenceIsNamedWithItsElementAndRanks) {
  const Sides sides;
  const Ran ran = run_binary(
      {"fingerprint", sides.whole, "--against", sides.top, sides.wrong, "--against-layout", "2@0 S(0)", "--json"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  const json found = json::parse(ran.out).at("differences").at(0);
  EXPECT_EQ(found.at("name"), "w");
  EXPECT_EQ(found.at("index"), "[3,1]");
  EXPECT_EQ(found.at("target_ranks"), json({1}));
}

TEST(FingerprintCommand, SavedDigestsOfTwoLayoutsCompare) {
  const Sides sides;
  const std::string a = sides.folder.path("a.json");
  const std::string b = sides.folder.path("b.json");
  const std::string map = sides.folder.path("map.json");
  EXPECT_EQ(run_binary({"fingerprint", sides.whole, "--save", a, "--save-map", map}).exit_code, 0);
  EXPECT_EQ(run_binary({"fingerprint", sides.top, sides.bottom, "--layout", "2@0 S(0)", "--save", b}).exit_code, 0);
  EXPECT_EQ(run_binary({"fingerprint", "--compare", a, b}).exit_code, 0);
  EXPECT_EQ(run_binary({"fingerprint", "--compare", map, b}).exit_code, 0);
  EXPECT_EQ(run_binary({"fingerprint", sides.top, sides.wrong, "--layout", "2@0 S(0)", "--save", b}).exit_code, 0);
  const Ran ran = run_binary({"fingerprint", "--compare", a, b});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("DIFFERS  w: digest"), std::string::npos) << ran.out;
}

TEST(FingerprintCommand, JsonIsABookThatCompareReads) {
  const Sides sides;
  const Ran ran = run_binary({"fingerprint", sides.whole, "--json"});
  ASSERT_EQ(ran.exit_code, 0);
  const std::string book = sides.folder.file("book.json", ran.out);
  EXPECT_EQ(run_binary({"fingerprint", "--compare", book, book}).exit_code, 0);
}

TEST(FingerprintCommand, ReplicasThatDifferAreAFinding) {
  const Sides sides;
  const Ran ran = run_binary({"fingerprint", sides.bottom, sides.wrong});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("replica differs on rank 1"), std::string::npos) << ran.out;
}

TEST(FingerprintCommand, MistakesExitTwoWithShortAnswers) {
  const Sides sides;
  const std::string text = sides.folder.file("text", "hello, this is no tensor at all");
  const std::vector<std::vector<std::string>> mistakes = {
      {"fingerprint"},
      {"fingerprint", "/nowhere"},
      {"fingerprint", text},
      {"fingerprint", sides.whole, "--key", "12"},
      {"fingerprint", sides.whole, "--layout", "w="},
      {"fingerprint", sides.whole, "--layout", "2@0 S(0)"},
      {"fingerprint", sides.whole, "--against", text},
      {"fingerprint", "--compare", text, text},
      {"fingerprint", "--compare", sides.whole},
  };
  for (const std::vector<std::string>& arguments : mistakes) {
    const Ran ran = run_binary(arguments);
    EXPECT_EQ(ran.exit_code, 2) << arguments.back();
    EXPECT_LE(lines_of(ran.err).size(), 4u) << ran.err;
    EXPECT_FALSE(ran.err.empty());
  }
}

TEST(BenchCommand, ReportsSpeedsAndRatios) {
  const Ran ran = run_binary({"bench", "fingerprint", "--bytes", "1M", "--rounds", "1", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json report = json::parse(ran.out);
  for (const char* member : {"fingerprint_gb_per_s", "ratio_to_xxh3", "ratio_to_read"}) {
    EXPECT_GT(report.at(member).get<double>(), 0) << member;
  }
  EXPECT_EQ(run_binary({"bench"}).exit_code, 2);
  EXPECT_EQ(run_binary({"bench", "fingerprint", "--bytes", "x"}).exit_code, 2);
}

}  // namespace
}  // namespace reshardcheck::cli_test
