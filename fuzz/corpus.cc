#include "fuzz/corpus.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/layout/limits.h"
#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

namespace fs = std::filesystem;

Error file_error(const std::string& path, std::string_view doing) {
  return Error{fmt::format("{}: cannot {}: {}", path, doing, std::strerror(errno))};
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] bool ok() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// A rename is durable once its folder is synced.
void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.ok()) (void)::fsync(descriptor.number());
}

Result<std::string> make_folder(const std::string& directory, std::string_view folder) {
  const fs::path path = fs::path(directory) / folder;
  std::error_code problem;
  fs::create_directories(path, problem);
  if (problem) return Error{fmt::format("{}: cannot make the folder: {}", path.string(), problem.message())};
  return path.string();
}

std::string_view folder_name(CorpusFolder folder) {
  return folder == CorpusFolder::crashing ? "crashing" : "regression";
}

std::string_view without_spaces(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

/// A detail may hold what a subject said; in a comment it must stay on one line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

Result<std::string> read_file(const std::string& path) {
  std::error_code problem;
  if (fs::exists(path, problem) && !fs::is_regular_file(path, problem)) {
    return Error{fmt::format("{}: cannot read: no regular file", path)};  // a pipe might never end
  }
  const std::uintmax_t bytes = fs::file_size(path, problem);
  if (problem) return Error{fmt::format("{}: cannot read: {}", path, problem.message())};
  if (bytes > static_cast<std::uintmax_t>(max_case_file_bytes)) {
    return Error{fmt::format("{}: {} bytes; at most {} are read", path, bytes, max_case_file_bytes)};
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad() || !stream.is_open()) return file_error(path, "read");
  return text;
}

}  // namespace

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::strchr("_-./:,=+@%", c) != nullptr;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string replay_command(const Finding& finding) {
  std::string command = fmt::format("reshardcheck run {} --subject {}",
                                    shell_word(finding.file.empty() ? to_text(finding.minimal) : finding.file),
                                    shell_word(finding.subject));
  if (!finding.where.empty()) command += " " + finding.where;
  // One run of what fails now and then mostly passes.
  if (finding.verdict.kind == VerdictKind::flaky) command += fmt::format(" --repeat {}", finding.confirm_runs);
  return command;
}

std::string failing_step(const Finding& finding) {
  return step_prefix(finding.minimal, finding.minimal.steps.size() - 1);
}

std::string finding_text(const Finding& finding) {
  std::string text;
  const auto comment = [&text](std::string_view label, std::string_view value) {
    fmt::format_to(std::back_inserter(text), "# {}: {}\n", label, one_line(std::string(value)));
  };
  comment("verdict", name(finding.verdict.kind));
  if (!finding.verdict.detail.empty()) comment("detail", failing_step(finding) + finding.verdict.detail);
  comment("subject", finding.subject);
  comment("world", finding.world);
  comment("seed", fmt::format("{}, {} {}", finding.seed, noun_of(finding.original), finding.case_index));
  if (finding.failed_runs < finding.confirm_runs) {
    comment("fails", fmt::format("{} of {} runs", finding.failed_runs, finding.confirm_runs));
  }
  comment("original", to_text(finding.original));
  comment("original verdict", step_prefix(finding.original, finding.original_verdict.step) +
                                  std::string(name(finding.original_verdict.verdict.kind)));
  comment("shrunk", fmt::format("{} runs, {}", finding.shrink_runs,
                                finding.one_minimal ? "no single step fails any more" : "the budget ended first"));
  comment("replay", replay_command(finding));
  return text + to_text(finding.minimal) + "\n";
}

std::string finding_file_name(const Finding& finding) {
  std::string subject = finding.subject;
  for (char& c : subject) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!plain) c = '-';
  }
  constexpr std::size_t longest_subject = 60;
  const std::string text = to_text(finding.minimal);
  return fmt::format("{}-{}-{:016x}.case", name(finding.verdict.kind), subject.substr(0, longest_subject),
                     XXH3_64bits(text.data(), text.size()));
}

Status write_file_whole(const std::string& path, std::string_view text) {
  const std::string beside = fmt::format("{}.{}.partial", path, ::getpid());
  {
    const Descriptor descriptor(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!descriptor.ok()) return file_error(path, "write");
    if (!write_all(descriptor.number(), text) || ::fsync(descriptor.number()) != 0) {
      const Error error = file_error(path, "write");
      (void)::unlink(beside.c_str());
      return error;
    }
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    const Error error = file_error(path, "write");
    (void)::unlink(beside.c_str());
    return error;
  }
  sync_folder(fs::path(path).parent_path());
  return Ok{};
}

Result<std::string> write_finding(const std::string& directory, CorpusFolder folder, const Finding& finding) {
  const Result<std::string> made = make_folder(directory, folder_name(folder));
  if (!made) return made.error();
  Finding placed = finding;
  placed.file = (fs::path(*made) / finding_file_name(finding)).string();
  const Status written = write_file_whole(placed.file, finding_text(placed));
  if (!written) return written.error();
  return placed.file;
}

Result<std::string> keep_as_regression(const std::string& directory, const std::string& file) {
  const Result<std::string> made = make_folder(directory, folder_name(CorpusFolder::regression));
  if (!made) return made.error();
  const fs::path kept = fs::path(*made) / fs::path(file).filename();
  if (::rename(file.c_str(), kept.c_str()) != 0) return file_error(file, "move to " + kept.string());
  sync_folder(*made);
  sync_folder(fs::path(file).parent_path());
  return kept.string();
}

Result<std::vector<std::string>> case_files(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code problem;
  for (fs::recursive_directory_iterator it(directory, problem), end; !problem && it != end; it.increment(problem)) {
    std::error_code gone;  // what vanishes meanwhile, or leads nowhere, is no file
    if (it->path().extension() == ".case" && it->is_regular_file(gone)) files.push_back(it->path().string());
  }
  if (problem) return Error{fmt::format("{}: cannot read: {}", directory, problem.message())};
  std::sort(files.begin(), files.end());
  return files;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

Result<std::vector<FileCase>> parse_cases(std::string_view text, std::string_view name) {
  text = without_byte_order_mark(text);
  std::vector<FileCase> cases;
  std::int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = without_spaces(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    Result<Sequence> value = parse_sequence(line);
    if (!value) return Error{fmt::format("{}:{}: {}", name, number, explain_error(line, value.error()))};
    if (value->steps.size() > 1) {
      return Error{
          fmt::format("{}:{}: a sequence of {} steps, where a case is wanted", name, number, value->steps.size())};
    }
    cases.push_back({std::move(value->steps.front()), number, std::string(line)});
  }
  return cases;
}

Result<std::vector<FileCase>> read_cases(const std::string& path) {
  std::vector<std::string> files{path};
  if (fs::is_directory(path)) {
    Result<std::vector<std::string>> found = case_files(path);
    if (!found) return found.error();
    files = *std::move(found);
  }
  std::vector<FileCase> cases;
  for (const std::string& file : files) {
    const Result<std::string> text = read_file(file);
    if (!text) return text.error();
    Result<std::vector<FileCase>> parsed = parse_cases(*text, file);
    if (!parsed) return parsed.error();
    std::move(parsed->begin(), parsed->end(), std::back_inserter(cases));
  }
  return cases;
}

}  // namespace reshardcheck
