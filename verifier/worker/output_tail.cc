#include "verifier/worker/output_tail.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "core/layout/printable.h"

namespace reshardcheck {
namespace {

constexpr std::size_t kept_bytes = 8'192;
constexpr std::size_t line_bytes = 160;
constexpr int look_ms = 100;  // between two looks at whether to stop

}  // namespace

OutputTail::OutputTail(const std::string& file) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;  // descriptor() is -1: processes then use our standard error
  read_end_ = ends[0];
  write_end_ = ends[1];
  fcntl(write_end_, F_SETFL, fcntl(write_end_, F_GETFL) & ~O_NONBLOCK);
  if (!file.empty()) file_ = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  reader_ = std::jthread([this](const std::stop_token& stop) { drain(stop); });
}

OutputTail::~OutputTail() {
  if (write_end_ >= 0) close(write_end_);
  if (reader_.joinable()) {
    reader_.request_stop();
    reader_.join();
  }
  if (read_end_ >= 0) close(read_end_);
  if (file_ >= 0) close(file_);
}

void OutputTail::drain(const std::stop_token& stop) {
  std::array<char, 4'096> piece;
  while (!stop.stop_requested()) {
    pollfd wanted{read_end_, POLLIN, 0};
    if (poll(&wanted, 1, look_ms) <= 0) continue;
    const std::lock_guard lock(mutex_);  // from the read to its memory, so that settle() misses nothing between
    const ssize_t size = read(read_end_, piece.data(), piece.size());
    if (size == 0) return;
    if (size < 0) continue;
    if (file_ >= 0 && write(file_, piece.data(), static_cast<std::size_t>(size)) < 0) {
      close(file_);  // a full disk costs the user the rest of the output, not the campaign
      file_ = -1;
    }
    tail_.append(piece.data(), static_cast<std::size_t>(size));
    if (tail_.size() > 2 * kept_bytes) tail_.erase(0, tail_.size() - kept_bytes);
  }
}

void OutputTail::forget() {
  settle();
  const std::lock_guard lock(mutex_);
  tail_.clear();
}

/// What is in the pipe has been printed too. A process may print for ever, so this is bounded.
void OutputTail::settle() const {
  constexpr auto longest_pause = std::chrono::milliseconds(100);
  for (auto pause = std::chrono::microseconds(20); pause < longest_pause && read_end_ >= 0; pause *= 2) {
    int waiting_bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      if (ioctl(read_end_, FIONREAD, &waiting_bytes) != 0 || waiting_bytes == 0) return;
    }
    std::this_thread::sleep_for(pause);
  }
}

std::string OutputTail::text() const {
  settle();
  const std::lock_guard lock(mutex_);
  return tail_;
}

std::string OutputTail::last_lines(std::size_t lines) const {
  settle();
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  std::size_t end = tail_.size();
  while (end > 0 && found.size() < lines) {
    const std::size_t newline = tail_.rfind('\n', end - 1);
    const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
    std::string line = tail_.substr(begin, end - begin);
    while (line.ends_with(' ') || line.ends_with('\r') || line.ends_with('\n')) line.pop_back();
    line = printable(line, line_bytes);
    if (line.find_first_not_of(" -=*") != std::string::npos) found.push_back(std::move(line));
    end = newline == std::string::npos ? 0 : newline;
  }
  std::string text;
  for (auto line = found.rbegin(); line != found.rend(); ++line) text += (text.empty() ? "" : " / ") + *line;
  return text;
}

}  // namespace reshardcheck
