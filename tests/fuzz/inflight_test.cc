// Goal: the case that was running when a process was killed is told once, to the next that starts; a case that was
// over, and files that say something else, are not. Method: real processes that are killed, and files written by hand.
#include "fuzz/inflight.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "fuzz/corpus.h"

namespace reshardcheck {
namespace {

namespace fs = std::filesystem;

constexpr const char* long_case = "a = bf16[28,8] 2@0 S(0) -> 4@2 S(1); b = u8[6] 2@0 S(0) -> 4@2 S(0) | seed=7";
constexpr const char* short_case = "u8[4] 1@0 R -> 1@1 R";

class InflightTest : public ::testing::Test {
 protected:
  InflightTest() : folder_((fs::temp_directory_path() / "reshardcheck-inflight-XXXXXX").string()) {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  ~InflightTest() override { fs::remove_all(folder_); }

  /// A process that does so and is then killed.
  void killed_after(const std::function<void(Inflight&)>& work) const {
    const pid_t process = fork();
    if (process == 0) {
      Result<Inflight> inflight = Inflight::open(folder_, " --subject reference", true);
      if (inflight.ok()) work(*inflight);
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(folder_ + "/inflight");
    std::ofstream(folder_ + "/inflight/" + name, std::ios::binary) << text;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::vector<std::string> told() const {
    std::vector<std::string> texts;
    for (const LeftInFlight& left : claim_left_in_flight(folder_)) texts.push_back(left.text);
    return texts;
  }

  std::string folder_;
};

using Texts = std::vector<std::string>;

TEST_F(InflightTest, ACaseThatWasRunningIsToldOnceAndItsFileReplaysIt) {
  killed_after([](Inflight& inflight) { inflight.begin(long_case); });
  const std::vector<LeftInFlight> left = claim_left_in_flight(folder_);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].text, long_case);
  const Result<std::vector<FileCase>> cases = read_cases(left[0].file);
  ASSERT_TRUE(cases.ok()) << cases.error().reason;
  EXPECT_EQ(cases->size(), 1U);
  EXPECT_NE(read(left[0].file).find("# replay: reshardcheck run " + left[0].file + " --subject"), std::string::npos)
      << "by the name that it has now: " << read(left[0].file);
  EXPECT_EQ(told(), Texts{});
}

TEST_F(InflightTest, WhatAProcessOfOurNumberLeftInAContainerIsToldAndKeptBesideWhatCameBefore) {
  const std::string own = std::to_string(getpid()) + ".case";
  for (const char* const text : {long_case, short_case}) {
    write(own, std::string("# running\n# replay: reshardcheck run x/") + own + "\n" + text + "\n");
    EXPECT_EQ(told(), Texts{text});
  }
  EXPECT_TRUE(fs::exists(folder_ + "/inflight/left-" + own));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/inflight"), {}), 2);
}

TEST_F(InflightTest, TwoProcessesOfOneNumberHaveAFileEach) {
  Result<Inflight> here = Inflight::open(folder_, "", false);
  Result<Inflight> in_a_container = Inflight::open(folder_, "", false);
  ASSERT_TRUE(here.ok() && in_a_container.ok());
  EXPECT_TRUE(here->begin(short_case));
  EXPECT_TRUE(in_a_container->begin(long_case));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/inflight"), {}), 2);
  EXPECT_EQ(told(), Texts{}) << "both are at work";
}

TEST_F(InflightTest, ACaseShorterThanTheOneBeforeIsToldAsItIs) {
  killed_after([](Inflight& inflight) {
    inflight.begin(long_case);
    inflight.end();
    inflight.begin(short_case);
  });
  EXPECT_EQ(told(), Texts{short_case});
}

TEST_F(InflightTest, ACaseThatWasOverIsNotToldAndItsFileGoes) {
  killed_after([](Inflight& inflight) {
    inflight.begin(short_case);
    inflight.end();
  });
  killed_after([](Inflight&) {});
  EXPECT_EQ(told(), Texts{});
  EXPECT_TRUE(fs::is_empty(folder_ + "/inflight"));
}

TEST_F(InflightTest, TheCasesOfProcessesThatStillRunAreTheirs) {
  {
    Result<Inflight> inflight = Inflight::open(folder_, "", false);
    ASSERT_TRUE(inflight.ok());
    EXPECT_TRUE(inflight->begin(short_case));
    EXPECT_EQ(told(), Texts{});
    Inflight moved = *std::move(inflight);
    moved.end();
    EXPECT_TRUE(moved.begin(long_case));
  }
  EXPECT_TRUE(fs::is_empty(folder_ + "/inflight")) << "a process that ends takes its file away";
}

TEST_F(InflightTest, FilesThatSayNoRunningCaseAreNotTold) {
  write("notes.case", "# running\nu8[4] 1@0 R -> 1@1 R\n");  // of no process
  write("1999999999.case", "");
  write("1999999998.case", "# over   \nu8[4] 1@0 R -> 1@1 R\n");
  write("1999999996.text", "# running\nu8[4] 1@0 R -> 1@1 R\n");
  EXPECT_EQ(told(), Texts{});
  EXPECT_TRUE(fs::exists(folder_ + "/inflight/notes.case"));
  EXPECT_EQ(claim_left_in_flight(folder_ + "/nowhere").size(), 0U);
}

TEST_F(InflightTest, FilesThatDoNotSayWhichCaseAreToldAndKept) {
  write("1999999998.case", "# running\n");
  write("1999999997.case", std::string("\x7f"
                                       "ELF\0",
                                       5));
  EXPECT_EQ(told(), (Texts{"", ""}));
  EXPECT_EQ(told(), Texts{});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/inflight"), {}), 2);
}

TEST_F(InflightTest, AFolderThatCannotBeMadeIsAnErrorThatNamesIt) {
  write("../plain", "");
  const Result<Inflight> inflight = Inflight::open(folder_ + "/plain", "", false);
  ASSERT_FALSE(inflight.ok());
  EXPECT_NE(inflight.error().reason.find(folder_ + "/plain/inflight"), std::string::npos) << inflight.error().reason;
}

TEST(Inflight, WithoutAFolderNotesNothing) {
  Inflight nothing;
  EXPECT_TRUE(nothing.begin("u8[4] 1@0 R -> 1@1 R"));
  nothing.end();
}

}  // namespace
}  // namespace reshardcheck
