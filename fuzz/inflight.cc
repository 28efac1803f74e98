#include "fuzz/inflight.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "fuzz/corpus.h"

namespace reshardcheck {
namespace {

namespace fs = std::filesystem;

// The first line of a file; both are of one length, so that the second can be written over the first.
constexpr std::string_view running = "# running\n";
constexpr std::string_view finished = "# over   \n";
constexpr std::string_view extension = ".case";
constexpr std::string_view left = "left-";

/// True for a name that Inflight::open() gives.
bool names_a_process(const fs::path& file) {
  const std::string stem = file.stem().string();
  return file.extension() == extension && !stem.empty() && stem.find_first_not_of("0123456789-") == std::string::npos &&
         stem.front() != '-';
}

/// A file that nobody holds, held by this process from now on. Its owner is gone then, on whatever host or in whatever
/// container it was: process numbers say nothing about those.
int hold(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  if (descriptor >= 0) close(descriptor);
  return -1;
}

/// False when another process that looked for what was left took a new file for that before it was locked.
bool stays_ours(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat facts {};
  return fstat(descriptor, &facts) == 0 && facts.st_nlink > 0;
}

std::string text_of(const fs::path& path) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 28;
  std::error_code failure;
  if (fs::file_size(path, failure) > most_bytes || failure) return "";
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The case in a file's text; empty when there is none.
std::string case_in(const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin && text[begin] != '#') {
      const std::string line = text.substr(begin, end - begin);
      return line.substr(0, line.find_last_not_of(' ') + 1);  // a longer case has stood there
    }
    begin = end + 1;
  }
  return "";
}

/// A name for what a process has left, that no other has.
fs::path left_path(const fs::path& file) {
  const fs::path folder = file.parent_path();
  fs::path path = folder / (std::string(left) + file.filename().string());
  for (int copy = 2; fs::exists(path); ++copy) {
    path = folder / fmt::format("{}{}-{}{}", left, file.stem().string(), copy, extension);
  }
  return path;
}

/// Moves the file to a name of its own, under which it says how to run it again.
std::optional<LeftInFlight> claim(const fs::path& file) {
  std::string text = text_of(file);
  std::error_code failure;
  if (text.empty() || text.starts_with(finished)) {
    fs::remove(file, failure);
    return std::nullopt;
  }
  const fs::path path = left_path(file);
  const std::string own_name = file.filename().string();
  const std::size_t named = text.find("/" + own_name);
  const bool is_running = text.starts_with(running);
  if (is_running && named != std::string::npos) text.replace(named + 1, own_name.size(), path.filename().string());
  if (is_running && write_file_whole(path.string(), text).ok()) {
    fs::remove(file, failure);
    return LeftInFlight{path.string(), case_in(text)};
  }
  fs::rename(file, path, failure);
  return LeftInFlight{(failure ? file : path).string(), is_running ? case_in(text) : ""};
}

}  // namespace

Result<Inflight> Inflight::open(const std::string& directory, const std::string& replay, bool synced) {
  const fs::path folder = fs::path(directory) / "inflight";
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return Error{fmt::format("{}: cannot make the folder: {}", folder.string(), failure.message())};
  Inflight inflight;
  // Another process of this number may be at work, on another host or in a container.
  constexpr int most_names = 1'000;
  for (int copy = 1; inflight.file_ < 0 && copy <= most_names; ++copy) {
    const std::string name = copy == 1 ? std::to_string(getpid()) : fmt::format("{}-{}", getpid(), copy);
    inflight.path_ = (folder / (name + std::string(extension))).string();
    inflight.file_ = ::open(inflight.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (inflight.file_ < 0 && errno != EEXIST) break;
    if (inflight.file_ < 0 || stays_ours(inflight.file_)) continue;  // locked until this process ends, however it does
    close(std::exchange(inflight.file_, -1));
  }
  if (inflight.file_ < 0) return Error{fmt::format("{}: cannot write: {}", inflight.path_, std::strerror(errno))};
  inflight.replay_ = replay;
  inflight.synced_ = synced;
  return inflight;
}

Inflight::Inflight(Inflight&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      synced_(other.synced_),
      path_(std::move(other.path_)),
      replay_(std::move(other.replay_)) {}

Inflight& Inflight::operator=(Inflight&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(synced_, other.synced_);
  std::swap(path_, other.path_);
  std::swap(replay_, other.replay_);
  return *this;
}

Inflight::~Inflight() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
}

/// The file keeps its longest length, blanks behind the case, so that syncing it seldom has to sync its size.
bool Inflight::begin(std::string_view text) {
  if (file_ < 0) return true;
  const std::size_t before = text_.size();
  text_.assign(running);
  text_ += fmt::format("# replay: reshardcheck run {}{}\n{}", path_, replay_, text);
  if (text_.size() + 1 < before) text_.append(before - text_.size() - 1, ' ');
  text_ += '\n';
  const bool whole = pwrite(file_, text_.data(), text_.size(), 0) == static_cast<ssize_t>(text_.size());
  return whole && (!synced_ || fdatasync(file_) == 0);
}

void Inflight::end() {
  if (file_ < 0) return;
  (void)!pwrite(file_, finished.data(), finished.size(), 0);  // at worst a case that ran to its end is told of
}

std::vector<LeftInFlight> claim_left_in_flight(const std::string& directory) {
  std::vector<LeftInFlight> found;
  std::error_code failure;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(directory) / "inflight", failure)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const int held = names_a_process(file) ? hold(file) : -1;
    if (held < 0) continue;
    if (std::optional<LeftInFlight> claimed = claim(file)) found.push_back(*std::move(claimed));
    close(held);
  }
  return found;
}

}  // namespace reshardcheck
