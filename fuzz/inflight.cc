#include "fuzz/inflight.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace reshardcheck {
namespace {

namespace fs = std::filesystem;

// The first line of a file; both are of one length, so that the second can be written over the first.
constexpr std::string_view running = "# running\n";
constexpr std::string_view finished = "# over   \n";
constexpr std::string_view extension = ".case";
constexpr std::string_view left = "left-";

/// The process a file is named after.
std::optional<pid_t> process_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  pid_t process = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), process);
  if (error != std::errc() || end != stem.data() + stem.size() || process <= 0) return std::nullopt;
  return process;
}

bool alive(pid_t process) { return kill(process, 0) == 0 || errno == EPERM; }

/// The case of a file that was running, or nothing.
std::optional<std::string> running_case(const fs::path& path) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 28;
  std::error_code failure;
  if (fs::file_size(path, failure) > most_bytes || failure) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!text.starts_with(running)) return std::nullopt;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin && text[begin] != '#') {
      const std::string line = text.substr(begin, end - begin);
      return line.substr(0, line.find_last_not_of(' ') + 1);  // a longer case has stood there
    }
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

Result<Inflight> Inflight::open(const std::string& directory, const std::string& replay, bool synced) {
  const fs::path folder = fs::path(directory) / "inflight";
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return Error{fmt::format("{}: cannot make the folder: {}", folder.string(), failure.message())};
  Inflight inflight;
  inflight.path_ = (folder / (std::to_string(getpid()) + std::string(extension))).string();
  inflight.file_ = ::open(inflight.path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
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
  close(file_);
  unlink(path_.c_str());
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
    const std::optional<pid_t> process = process_of(file);
    if (file.extension() != extension || !process || alive(*process)) continue;
    std::optional<std::string> text = running_case(file);
    if (!text) {
      fs::remove(file, failure);
      continue;
    }
    const std::string name = fmt::format("{}{}{}", left, file.stem().string(), extension);
    fs::rename(file, file.parent_path() / name, failure);
    found.push_back({(failure ? file : file.parent_path() / name).string(), *std::move(text)});
  }
  return found;
}

}  // namespace reshardcheck
