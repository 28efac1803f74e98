// Goal: a finding survives its file, files appear whole, and broken ones say where. Method: a directory of its own per
// test, real files.
#include "fuzz/corpus.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

namespace fs = std::filesystem;

Case kept_case(std::string_view text) { return *parse_case(text); }

class Corpus : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "reshardcheck-corpus-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  void put(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  static Finding finding() {
    Finding found;
    found.minimal = {{kept_case("u8[2] 2x2@0 S(0),S(0) -> 1@4 R")}};
    found.original = {{kept_case("w = bf16[7,9] 2x2x2@0 S(0),S(0),R -> 3@8 S(1) | seed=4")}};
    found.verdict.kind = VerdictKind::mismatch;
    found.verdict.detail = "rank 4 holds element [0] where element [1] belongs\nand a second line";
    found.original_verdict.verdict.kind = VerdictKind::unwritten;
    found.subject = "mutant:flat-chunk";
    found.world = "sim";
    found.seed = 42;
    found.case_index = 7;
    found.shrink_runs = 19;
    found.one_minimal = true;
    return found;
  }

  fs::path directory_;
};

TEST_F(Corpus, AFindingComesBackFromItsFileWithAllThatAPersonNeeds) {
  const Result<std::string> file = write_finding(directory_.string(), CorpusFolder::crashing, finding());
  ASSERT_TRUE(file.ok()) << file.error().reason;
  EXPECT_EQ(fs::path(*file).parent_path(), directory_ / "crashing");
  EXPECT_EQ(fs::path(*file).extension(), ".case");
  const Result<std::vector<FileCase>> cases = read_cases(*file);
  ASSERT_TRUE(cases.ok());
  ASSERT_EQ(cases->size(), 1u);
  EXPECT_EQ(cases->front().value, finding().minimal.steps.front());

  std::ifstream stream(*file);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  for (const std::string& part : {std::string("seed: 42, case 7"), std::string("subject: mutant:flat-chunk"), std::string("world: sim"),
                                  std::string("verdict: mismatch"), to_text(finding().original),
                                  "reshardcheck run " + *file + " --subject mutant:flat-chunk"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

TEST_F(Corpus, WritesASequenceOnOneLineAndSaysWhichStepFails) {
  Finding found = finding();
  found.minimal = *parse_sequence("u8[4] 2@0 S(0) -> 1@2 R >> u8[6] 2@0 S(0) -> 1@2 R");
  found.original = *parse_sequence("u8[4] 2@0 S(0) -> 1@2 R >> u8[6] 2@0 S(0) -> 1@2 R >> u8[] 1@0 R -> 1@1 R");
  found.original_verdict.step = 1;
  const std::string text = finding_text(found);
  EXPECT_TRUE(text.ends_with("\n" + to_text(found.minimal) + "\n")) << text;
  for (const std::string_view part : {"# detail: step 2 of 2: rank 4", "seed: 42, sequence 7", "# original verdict: step 2 of 3: "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
  const Result<std::vector<FileCase>> cases = parse_cases(text, "name");
  ASSERT_FALSE(cases.ok()) << "a sequence is no case";
  EXPECT_NE(cases.error().reason.find("sequence of 2 steps"), std::string::npos) << cases.error().reason;
}

TEST_F(Corpus, LeavesNothingBesideAFileThatItHasWritten) {
  ASSERT_TRUE(write_finding(directory_.string(), CorpusFolder::crashing, finding()).ok());
  ASSERT_TRUE(write_finding(directory_.string(), CorpusFolder::crashing, finding()).ok());  // the same name again
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "crashing"), fs::directory_iterator{}), 1);
}

TEST_F(Corpus, ReplacesAFileAsAWhole) {
  ASSERT_TRUE(write_file_whole(path("a"), "a long first text\n").ok());
  ASSERT_TRUE(write_file_whole(path("a"), "short\n").ok());
  EXPECT_EQ(fs::file_size(path("a")), 6u);
}

TEST_F(Corpus, SaysWhichFileItCannotWrite) {
  const Status status = write_file_whole(path("no/such/folder/a"), "text");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().reason.find("no/such/folder/a"), std::string::npos);
  put("file", "");
  EXPECT_FALSE(write_finding(path("file"), CorpusFolder::crashing, finding()).ok());
}

TEST_F(Corpus, MovesWhatMustNotComeBackToRegression) {
  const Result<std::string> file = write_finding(directory_.string(), CorpusFolder::crashing, finding());
  ASSERT_TRUE(file.ok());
  const Result<std::string> kept = keep_as_regression(directory_.string(), *file);
  ASSERT_TRUE(kept.ok()) << kept.error().reason;
  EXPECT_FALSE(fs::exists(*file));
  EXPECT_EQ(fs::path(*kept).parent_path(), directory_ / "regression");
  EXPECT_EQ(read_cases(*kept)->front().value, finding().minimal.steps.front());
  EXPECT_FALSE(keep_as_regression(directory_.string(), *file).ok());
}

TEST_F(Corpus, ReadsManyCasesBetweenCommentsAndBlankLines) {
  const Result<std::vector<FileCase>> cases =
      parse_cases("# a comment\n\n  u8[2] 1@0 R -> 1@1 R  \r\n\t# another\nu8[3] 1@0 R -> 1@1 R", "name");
  ASSERT_TRUE(cases.ok());
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ((*cases)[0].line, 3);
  EXPECT_EQ((*cases)[0].text, "u8[2] 1@0 R -> 1@1 R");
  EXPECT_EQ((*cases)[1].line, 5);
}

TEST_F(Corpus, SkipsTheByteOrderMarkAtTheStartOfATextAndOnlyThere) {
  const Result<std::vector<FileCase>> cases = parse_cases("\xEF\xBB\xBFu8[2] 1@0 R -> 1@1 R\n", "name");
  ASSERT_TRUE(cases.ok()) << cases.error().reason;
  EXPECT_EQ(cases->front().text, "u8[2] 1@0 R -> 1@1 R");
  EXPECT_FALSE(parse_cases("# first\n\xEF\xBB\xBFu8[2] 1@0 R -> 1@1 R\n", "name").ok());
}

TEST_F(Corpus, NamesTheFileAndTheLineThatIsWrong) {
  put("torn.case", "# fine\nu8[2] 1@0 R -> 1@1 R\nu8[2] 1@0 R -> 1@");
  const Result<std::vector<FileCase>> cases = read_cases(path("torn.case"));
  ASSERT_FALSE(cases.ok());
  EXPECT_EQ(cases.error().reason.rfind(path("torn.case") + ":3: ", 0), 0u) << cases.error().reason;
  EXPECT_FALSE(parse_cases(std::string_view("u8[2] 1@0 R \0 -> 1@1 R", 22), "zero").ok());
  EXPECT_FALSE(read_cases(path("missing.case")).ok());
}

TEST_F(Corpus, ReadsADirectoryInTheOrderOfItsNamesAndOnlyItsCaseFiles) {
  fs::create_directories(directory_ / "crashing");
  put("crashing/b.case", "u8[2] 1@0 R -> 1@1 R\n");
  put("crashing/a.case", "u8[1] 1@0 R -> 1@1 R\n");
  put("crashing/a.case.77.partial", "half a li");
  put("note.txt", "not a case\n");
  fs::create_directories(directory_ / "folder.case");
  ASSERT_EQ(::mkfifo(path("pipe.case").c_str(), 0600), 0);
  EXPECT_FALSE(read_cases(path("pipe.case")).ok());
  const Result<std::vector<FileCase>> cases = read_cases(directory_.string());
  ASSERT_TRUE(cases.ok()) << cases.error().reason;
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ((*cases)[0].text, "u8[1] 1@0 R -> 1@1 R");
}

TEST(ShellWord, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_word("out/a-b_1.case"), "out/a-b_1.case");
  EXPECT_EQ(shell_word("u8[2] 1@0 R"), "'u8[2] 1@0 R'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace reshardcheck
