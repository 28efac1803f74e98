// Corpus: findings as files that a person can read, a tool can replay and a repository can keep.
//
// Under a directory, crashing/*.case holds what a campaign has found and regression/*.case what must not come
// back. A finding is one file: comment lines (#) with seed, subject, world, verdict, original and the command that
// replays it, then the minimal case, or the minimal sequence of cases, on a line of its own. Any .case file may hold
// many, one a line, with comments and blank lines between. Files appear whole or not at all: they are written beside
// their name, synced and renamed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "fuzz/sequence.h"
#include "verifier/verdict.h"

namespace reshardcheck {

/// What failed, with its minimised form. A case by itself is a sequence of one step.
struct Finding {
  Sequence minimal;  // fails in its last step
  Sequence original;
  Verdict verdict;  // of the minimal sequence
  SequenceVerdict original_verdict;
  std::string bucket;  // the verdict's bucket and the features of the minimal cases; equal for duplicates
  std::string subject;
  std::string world;
  std::string where;            // flags of a command that runs them the same way again, such as "--world threads"
  std::uint64_t seed = 0;       // of the campaign
  std::int64_t case_index = 0;  // in the campaign, from 0
  std::int64_t shrink_runs = 0;
  bool one_minimal = false;
  std::int64_t duplicates = 0;   // later failures that shrank into the same bucket
  std::int64_t failed_runs = 1;  // of confirm_runs; fewer: the finding is flaky
  std::int64_t confirm_runs = 1;
  std::string file;          // where it was written; empty when nowhere
  std::string file_problem;  // why it could not be written
};

/// The text as one word of a POSIX shell, quoted where it must be.
[[nodiscard]] std::string shell_word(std::string_view text);

/// "reshardcheck run FILE --subject NAME": replays a finding; without a file the cases themselves. A flaky one gets as
/// many runs to fail in as have confirmed it.
[[nodiscard]] std::string replay_command(const Finding& finding);

/// What goes before the finding's detail: which step of the minimal sequence fails (see step_prefix).
[[nodiscard]] std::string failing_step(const Finding& finding);

/// The text of the finding's file.
[[nodiscard]] std::string finding_text(const Finding& finding);

/// The name of the finding's file without folder: verdict, subject and a digest of the minimal sequence.
[[nodiscard]] std::string finding_file_name(const Finding& finding);

enum class CorpusFolder : std::uint8_t { crashing, regression };

/// Writes the finding under directory/crashing or directory/regression, making the folders. The path, or an Error
/// that says which file and why.
Result<std::string> write_finding(const std::string& directory, CorpusFolder folder, const Finding& finding);

/// Moves a finding's file from crashing to regression; the new path.
Result<std::string> keep_as_regression(const std::string& directory, const std::string& file);

/// Writes a file so that it appears whole or not at all.
Status write_file_whole(const std::string& path, std::string_view text);

/// A case of a file and the line it stands on, from 1.
struct FileCase {
  Case value;
  std::int64_t line = 0;
  std::string text;  // as the file has it
};

/// The largest .case file that is read.
inline constexpr std::int64_t max_case_file_bytes = std::int64_t{1} << 28;

/// The .case files of a directory and its folders, in the order of their names. What is no regular file, such as a
/// named pipe, is none of them.
Result<std::vector<std::string>> case_files(const std::string& directory);

/// Some editors put the UTF-8 byte order mark before a text; it is no part of it.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// The cases of a text in the format of .case files. The Error names "name:line" and what is wrong there; a sequence
/// of several steps is no case.
Result<std::vector<FileCase>> parse_cases(std::string_view text, std::string_view name);

/// The cases of a file, or of all .case files of a directory and its folders, in the order of their names.
Result<std::vector<FileCase>> read_cases(const std::string& path);

}  // namespace reshardcheck
