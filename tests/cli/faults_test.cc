// fuzz --faults: half of the cases meet a fault of the simulated network; how those ended is counted apart.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

using nlohmann::json;

TEST(FuzzFaults, OfTheReferenceAreCleanAndCountedByHowTheyEnded) {
  const std::vector<std::string> command{"fuzz", "--faults", "--cases", "600", "--seed", "2"};
  const Ran text = run_binary(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find(" of the cases had faults; they ended so:\n  pass "), std::string::npos) << text.out;
  EXPECT_NE(lines_of(text.out).back().find("--faults"), std::string::npos) << text.out;
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const json end = json::parse(lines_of(run_binary(as_json).out).back());
  std::int64_t faulted = 0;
  for (const auto& [verdict, cases] : end["faulted"].items()) faulted += cases.get<std::int64_t>();
  EXPECT_EQ(end["verdicts"]["pass"].get<std::int64_t>() + faulted, 600);
  EXPECT_GT(end["faulted"]["hang"], 0);
}

TEST(FuzzFaults, DoNotHideASeededBug) {
  const Ran ran =
      run_binary({"fuzz", "--faults", "--cases", "2000", "--seed", "2", "--subject", "mutant:flat-chunk", "--quiet"});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_EQ(ran.out.find("faults="), std::string::npos) << ran.out;
}

TEST(FuzzFaults, ReachASubjectInAWorkerToo) {
  const Ran ran = run_binary({"fuzz", "--faults", "--cases", "100", "--seed", "2", "--quiet", "--subject",
                              "lib:" RESHARDCHECK_EXAMPLE_SUBJECT});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
}

TEST(FuzzFaults, NeedTheSimWorld) {
  for (const char* const world : {"threads", "mpi"}) {
    const Ran ran = run_binary({"fuzz", "--faults", "--world", world, "--launch", "mpirun -np 2"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.err.find("only the sim world can"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace reshardcheck::cli_test
