// Goal: a campaign that is killed at any moment loses nothing that it has printed, and the next one says which case was
// in flight; a corpus that cannot be written or read is told of and survived. Method: the real binary, SIGKILL after a
// number of printed lines drawn from a fixed seed, files where folders should be.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>

#include "core/layout/notation.h"
#include "fuzz/corpus.h"
#include "tests/cli/driver.h"

namespace reshardcheck::cli_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

/// More than a test's: RESHARDCHECK_KILLS=200.
int wanted_kills() {
  const char* const text = std::getenv("RESHARDCHECK_KILLS");
  return text == nullptr ? 10 : std::atoi(text);
}

/// What a driver had printed of one kind of event.
std::vector<json> printed_events(const std::string& out, const std::string& event) {
  std::vector<json> found;
  for (const json& value : json_lines(out)) {
    if (value.is_object() && value.value("event", "") == event) found.push_back(value);
  }
  return found;
}

/// The case that the corpus says was running in a process, or nothing.
std::optional<std::string> in_flight(const std::string& corpus, pid_t process) {
  const std::string file = corpus + "/inflight/" + std::to_string(process) + ".case";
  if (!read_file(file).starts_with("# running")) return std::nullopt;
  const Result<std::vector<FileCase>> cases = read_cases(file);
  if (!cases || cases->size() != 1) return "no whole case";
  return to_text(cases->at(0).value);
}

/// Every .case file of the corpus parses, and none is half of one.
void expect_no_torn_file(const std::string& corpus) {
  for (const char* const folder : {"crashing", "inflight"}) {
    if (!fs::exists(corpus + "/" + folder)) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(corpus + "/" + folder)) {
      const std::string file = entry.path().string();
      if (!file.ends_with(".case")) continue;
      const std::string text = read_file(file);
      if (text.empty() && std::string(folder) == "inflight") continue;  // of a campaign that has not begun a case
      const Result<std::vector<FileCase>> cases = read_cases(file);
      ASSERT_TRUE(cases.ok()) << cases.error().reason;
      EXPECT_EQ(cases->size(), 1U) << file << "\n" << text;
      EXPECT_TRUE(text.ends_with('\n')) << file;
    }
  }
}

/// Subjects with several findings, in this process and in workers.
const Words killed_subjects{"mutant:floor-remainder", misbehaving_subject("error"), "mutant:size-one-axis",
                            misbehaving_subject("crash")};

TEST(Durability, AKilledCampaignLosesNoPrintedFindingAndTheNextOneTellsOfTheCaseInFlight) {
  std::mt19937_64 random(20);
  const Folder folder;
  std::set<std::string> replayed;
  for (int kill = 0; kill < wanted_kills(); ++kill) {
    const std::string& subject = killed_subjects[static_cast<std::size_t>(kill) % killed_subjects.size()];
    const std::string corpus = folder.path(std::to_string(kill));
    const Words words{
        "fuzz",   "--subject", subject, "--cases",      "100000", "--seed", std::to_string(random() % 1000),
        "--json", "--out",     corpus,  "--stop-after", "0"};
    Driver driver(words);
    const pid_t process = driver.id();
    std::string out;
    for (std::uint64_t lines = random() % 400; lines > 0; --lines) out += driver.next_line().value_or("{}") + "\n";
    driver.kill_alone();
    out += driver.end().out;
    EXPECT_EQ(driver.left_behind(10), "") << subject;

    expect_no_torn_file(corpus);
    for (const json& finding : printed_events(out, "finding")) {
      const Result<std::vector<FileCase>> cases = read_cases(finding.at("file"));
      ASSERT_TRUE(cases.ok()) << cases.error().reason;
      ASSERT_EQ(cases->size(), 1U);
      EXPECT_EQ(to_text(cases->at(0).value), finding.at("case"));
      if (!replayed.insert(subject + finding.at("case").get<std::string>()).second) continue;
      const Ran again = run_binary({"run", finding.at("file"), "--subject", subject, "--json"});
      EXPECT_EQ(again.exit_code, 1) << again.out << again.err;
      EXPECT_EQ(json::parse(again.out).at("verdict"), finding.at("verdict"));
    }

    const std::optional<std::string> running = in_flight(corpus, process);
    const Words next{"fuzz", "--cases", "1", "--seed", "1", "--json", "--out", corpus};
    const std::vector<json> told = printed_events(run_binary(next).out, "left_in_flight");
    ASSERT_EQ(told.size(), running ? 1U : 0U) << kill;
    if (running) {
      EXPECT_EQ(told[0].at("case"), *running);
    }
    EXPECT_TRUE(printed_events(run_binary(next).out, "left_in_flight").empty()) << "told twice";
  }
  EXPECT_FALSE(replayed.empty());
}

TEST(Durability, ADriverKilledWhileItsSubjectHangsNamesThatCaseAtTheNextStartAndLeavesNoWorker) {
  const Folder folder;
  const HangingCampaign hanging = hanging_campaign(folder.path("out"), {});
  ASSERT_NE(hanging.text, "");
  hanging.driver->kill_alone();
  EXPECT_EQ(hanging.driver->left_behind(10), "");
  const std::vector<json> told =
      printed_events(run_binary({"fuzz", "--cases", "1", "--json", "--out", folder.path("out")}).out, "left_in_flight");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("case"), hanging.text);
  const Ran again = run_binary(
      {"run", told[0].at("file"), "--subject", misbehaving_subject("hang"), "--case-timeout", "0.2", "--json"});
  EXPECT_EQ(json::parse(again.out).at("verdict"), "hang") << again.out << again.err;
}

TEST(Durability, AFindingThatCannotBeWrittenIsPrintedWithTheReasonAndTheSearchGoesOn) {
  const Folder folder;
  fs::create_directory(folder.path("out"));
  folder.file("out/crashing", "a file where the folder should be");
  const Words words{"fuzz", "--subject", "mutant:flat-chunk", "--cases", "300", "--seed", "101", "--stop-after",
                    "0",    "--out",     folder.path("out"),  "--quiet"};
  const Ran ran = run_binary(words);
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_NE(ran.out.find("NOT WRITTEN: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("replay: reshardcheck run 'u8["), std::string::npos) << ran.out;
  EXPECT_NE(lines_of(ran.out).back().find("300 cases"), std::string::npos) << ran.out;
}

TEST(Durability, ACorpusThatCannotBeMadeIsOneClearLine) {
  const Folder folder;
  const std::string file = folder.file("plain", "");
  for (const std::string& out : {file, file + "/below", std::string("/proc/reshardcheck")}) {
    const Ran ran = run_binary({"fuzz", "--cases", "5", "--seed", "1", "--out", out, "--quiet"});
    EXPECT_EQ(ran.exit_code, 2) << out;
    EXPECT_NE(lines_of(ran.err).at(0).find(out), std::string::npos) << ran.err;
    EXPECT_LE(lines_of(ran.err).size(), 2U) << ran.err;
  }
}

TEST(Durability, AFullDiskIsToldOnceAndStopsNothing) {
  const Folder folder;
  // No file may grow: what a full disk does to every write, without a disk to fill.
  Driver driver({"fuzz", "--subject", "mutant:flat-chunk", "--cases", "300", "--seed", "101", "--stop-after", "0",
                 "--out", folder.path("out"), "--quiet"},
                {"sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\" 2>&1"});
  const Ran ran = driver.end();
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  const std::vector<std::string> lines = lines_of(ran.out);
  const auto warns = [](const std::string& line) { return line.find("is the disk full?") != std::string::npos; };
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), warns), 1) << ran.out;
  EXPECT_NE(ran.out.find("NOT WRITTEN: "), std::string::npos) << ran.out;
  EXPECT_NE(lines.back().find("300 cases"), std::string::npos) << ran.out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path("out"))) {
    if (entry.is_regular_file()) ADD_FAILURE() << "left half a file: " << entry.path();
  }
}

TEST(Durability, ACommandThatRunsOutOfMemorySaysWhatNeedsLess) {
  Driver driver({"prove", "u8[65536] 65536@0 S(0) -> 65536@0 R"},
                {"sh", "-c", "ulimit -v 500000; exec \"$0\" \"$@\" 2>&1"});
  const Ran ran = driver.end();
  EXPECT_EQ(ran.exit_code, 3) << ran.out;
  EXPECT_NE(ran.out.find("out of memory"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("fewer ranks and smaller shapes need less"), std::string::npos) << ran.out;
}

TEST(Durability, ACorruptFileOfACorpusIsToldAndTheOthersRun) {
  const Folder folder;
  folder.file("a.case", "# good\nu8[4] 2@0 S(0) -> 1@2 R\n");
  folder.file("b.case", "u8[4] 2@0 S(0) -> 1@2 R\nu8[4 2@0");
  folder.file("c.case", std::string("\0\xff\x7f"
                                    "ELF",
                                    6));
  folder.file("d.case", "u8[4] 2@0 S(0) -> 1@2 R\n");
  const Ran ran = run_binary({"run", folder.path(), "--json"});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_EQ(lines_of(ran.out).size(), 2U) << ran.out;
  EXPECT_NE(ran.err.find("b.case:2: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("c.case:1: "), std::string::npos) << ran.err;
  for (const char letter : ran.err) EXPECT_TRUE(letter == '\n' || static_cast<unsigned char>(letter) >= ' ');
  // A finding among the others weighs as much as ever; it does not hide that a file was not read.
  const Ran failing = run_binary({"run", folder.path(), "--subject", "mutant:success-no-data", "--quiet"});
  EXPECT_EQ(failing.exit_code, 2) << failing.out;
  EXPECT_NE(failing.out.find("unwritten"), std::string::npos) << failing.out;
}

}  // namespace
}  // namespace reshardcheck::cli_test
