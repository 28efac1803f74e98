#include "core/subject/line_channel.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace reshardcheck {
namespace {

using Clock = std::chrono::steady_clock;

/// Waking a process that sleeps takes tens of microseconds, more than the other end needs for a small answer: a reader
/// looks so often, and lets others run in between, before it sleeps.
constexpr int looks_before_sleep = 50;

/// Waits until the socket is ready for `events`. False at the deadline.
bool ready(int socket, short events, bool bounded, Clock::time_point deadline) {
  while (true) {
    int timeout = -1;
    if (bounded) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    }
    pollfd wanted{socket, events, 0};
    const int count = poll(&wanted, 1, timeout);
    if (count > 0) return true;  // ready, closed or failed: the call that follows says which
    if (count < 0 && errno != EINTR) return true;
    if (bounded && Clock::now() >= deadline) return false;
  }
}

}  // namespace

std::string_view name(ChannelStatus status) {
  switch (status) {
    case ChannelStatus::ok:
      return "ok";
    case ChannelStatus::closed:
      return "closed";
    case ChannelStatus::deadline:
      return "deadline";
    case ChannelStatus::too_long:
      return "too long a line";
    case ChannelStatus::failed:
      return "failed";
  }
  return "unknown";
}

ChannelStatus LineChannel::write(std::string_view line, std::int64_t deadline_ms) {
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(deadline_ms);
  std::string whole;
  whole.reserve(line.size() + 1);
  whole.append(line).append(1, '\n');
  std::size_t sent = 0;
  while (sent < whole.size()) {
    const ssize_t count = ::send(socket_, whole.data() + sent, whole.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return ChannelStatus::closed;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return ChannelStatus::failed;
    if (!ready(socket_, POLLOUT, true, deadline)) return ChannelStatus::deadline;
  }
  return ChannelStatus::ok;
}

ChannelStatus LineChannel::read(std::string& line, std::int64_t deadline_ms) {
  const bool bounded = deadline_ms >= 0;
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(deadline_ms, 0));
  constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  int looks = looks_before_sleep;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      line.assign(buffer_, begin_, end - begin_);
      begin_ = searched_ = end + 1;
      if (begin_ == buffer_.size()) {
        buffer_.clear();
        begin_ = searched_ = 0;
      }
      return ChannelStatus::ok;
    }
    if (begin_ > 0) {
      buffer_.erase(0, begin_);
      begin_ = 0;
    }
    searched_ = buffer_.size();
    if (buffer_.size() > max_line_bytes_) return ChannelStatus::too_long;
    buffer_.resize(searched_ + piece_bytes);
    const ssize_t count = recv(socket_, buffer_.data() + searched_, piece_bytes, MSG_DONTWAIT);
    const int failure = errno;
    buffer_.resize(searched_ + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0) continue;
    if (count == 0 || failure == ECONNRESET) return ChannelStatus::closed;
    if (failure == EINTR) continue;
    if (failure != EAGAIN && failure != EWOULDBLOCK) return ChannelStatus::failed;
    if (looks-- > 0) {
      sched_yield();
      continue;
    }
    if (!ready(socket_, POLLIN, bounded, deadline)) return ChannelStatus::deadline;
  }
}

}  // namespace reshardcheck
