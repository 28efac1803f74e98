// enumerate: exit codes, counts and JSON of the real binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

TEST(Enumerate, CountsTheBoundsThatAreKnown) {
  EXPECT_NE(run_binary({"enumerate", "--count"}).out.find("the bound holds 324384 cases"), std::string::npos);
}

TEST(Enumerate, PassesTheReferenceOnASmallBound) {
  const Ran ran = run_binary({"enumerate", "--max-ranks", "4", "--max-extent", "3", "--jobs", "2"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(lines_of(ran.out).back().starts_with("clean: ")) << ran.out;
}

TEST(Enumerate, NamesTheSimplestFailingCaseAndExitsWithOne) {
  const Ran ran =
      run_binary({"enumerate", "--max-ranks", "5", "--max-dims", "1", "--subject", "mutant:axis-order", "--json"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  bool seen = false;
  for (const std::string& line : lines_of(ran.out)) {
    const json event = json::parse(line);
    if (event["event"] != "simplest") continue;
    seen = true;
    EXPECT_EQ(event["case"], "u8[2] 2x2@0 S(0),S(0) -> 1@4 R");
    EXPECT_EQ(event["verdict"], "mismatch");
  }
  EXPECT_TRUE(seen);
}

TEST(Enumerate, OfABoundWithCasesThatDoNotFitIsIncompleteAndNotClean) {
  const std::vector<std::string> bound = {"enumerate",    "--max-ranks", "2",           "--max-dims", "1",
                                          "--max-extent", "2",           "--max-bytes", "1",          "--quiet"};
  const Ran ran = run_binary(bound);
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_TRUE(lines_of(ran.out).back().starts_with("incomplete: ")) << ran.out;
  std::vector<std::string> as_json = bound;
  as_json.push_back("--json");
  const json end = json::parse(lines_of(run_binary(as_json).out).back());
  EXPECT_EQ(end["complete"], false) << end;
  EXPECT_EQ(end["skipped"], end["cases"]) << end;
}

TEST(Enumerate, ShardsAddUp) {
  std::int64_t visited = 0;
  for (const char* const shard : {"1/3", "2/3", "3/3"}) {
    const Ran ran = run_binary({"enumerate", "--max-ranks", "4", "--max-dims", "1", "--shard", shard, "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    visited += json::parse(lines_of(ran.out).back())["visited"].get<std::int64_t>();
  }
  const Ran whole = run_binary({"enumerate", "--max-ranks", "4", "--max-dims", "1", "--json"});
  EXPECT_EQ(json::parse(lines_of(whole.out).back())["visited"], visited);
}

TEST(Enumerate, RefusesBoundsThatMakeNoSense) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"enumerate", "--shard", "4/3"},
                                                    {"enumerate", "--shard", "half"},
                                                    {"enumerate", "--rules", "halves"},
                                                    {"enumerate", "--min-extent", "6"},
                                                    {"enumerate", "--jobs", "0"},
                                                    {"enumerate", "--subject", "mutant:none"}}) {
    const Ran ran = run_binary(arguments);
    EXPECT_EQ(ran.exit_code, 2) << arguments.back();
    EXPECT_LE(lines_of(ran.err).size(), 4U) << ran.err;
  }
}

TEST(BenchPower, ScoresAMutant) {
  const Ran ran = run_binary({"bench", "power", "--mutants", "flat-chunk", "--seeds", "2", "--json", "--matrix",
                              std::string(RESHARDCHECK_SOURCE_DIR) + "/golden/m2n_matrix.cases"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json totals = json::parse(lines_of(ran.out).back());
  EXPECT_EQ(totals["killed_by_search_in_all_seeds"], 1);
  EXPECT_EQ(totals["killed_by_matrix_with_our_oracles"], 0);  // the public matrix has no two axes on one uneven dim
  EXPECT_EQ(run_binary({"bench", "power", "--matrix", "no-such-file.cases"}).exit_code, 2);
}

}  // namespace
}  // namespace reshardcheck::cli_test
