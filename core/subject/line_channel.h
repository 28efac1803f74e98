// LineChannel: lines of text over a stream socket, with a bound on every line and a deadline on every wait.
//
// What the worker protocol and process subjects speak. The other end is untrusted: it may send garbage, half a line, a
// line without an end, or nothing at all; each of these is a status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/layout/limits.h"

namespace reshardcheck {

enum class ChannelStatus : std::uint8_t {
  ok,
  closed,    // the other end is gone; what it had sent before has been read
  deadline,  // not in time; what has come of a line is kept for the next call
  too_long,  // a line above the bound: the channel is of no use any more
  failed,    // the system said no
};
[[nodiscard]] std::string_view name(ChannelStatus status);

class LineChannel {
 public:
  static constexpr std::size_t default_max_line_bytes = static_cast<std::size_t>(2 * limits::max_text_bytes);

  LineChannel() = default;
  /// Talks over a non-blocking stream socket, which must stay open while the channel is used.
  explicit LineChannel(int socket, std::size_t max_line_bytes = default_max_line_bytes)
      : socket_(socket), max_line_bytes_(max_line_bytes) {}

  [[nodiscard]] int socket() const { return socket_; }

  /// Sends a line; a '\n' is added, and there must be none in it.
  ChannelStatus write(std::string_view line, std::int64_t deadline_ms);
  /// Waits for the next line; without its '\n'. deadline_ms < 0: waits for ever, which only a worker does for its
  /// driver.
  ChannelStatus read(std::string& line, std::int64_t deadline_ms);

 private:
  int socket_ = -1;
  std::size_t max_line_bytes_ = default_max_line_bytes;
  std::string buffer_;        // received
  std::size_t begin_ = 0;     // of what no read has given out yet
  std::size_t searched_ = 0;  // no line ends before this
};

}  // namespace reshardcheck
