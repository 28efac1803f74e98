#include "cli/progress.h"

#include <fmt/format.h>

#include <chrono>

namespace reshardcheck::cli {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ProgressDisplay::show(double fraction, std::int64_t cases, const std::string& note) {
  const double now = clock_seconds();
  if (now - shown_ < (stream_.is_terminal() ? 0.1 : 10.0)) return;
  shown_ = now;
  const std::string state = fmt::format("{:3.0f} %  {} cases, {:.0f} a second, {}", 100 * fraction, cases,
                                        static_cast<double>(cases) / (now - begin_), note);
  if (!stream_.is_terminal()) {
    stream_.line("# " + state);
    return;
  }
  constexpr int width = 30;
  const auto filled = static_cast<std::size_t>(width * fraction);
  stream_.print(fmt::format("\r[{:<{}}] {}\033[K", std::string(filled, '='), width, state));
  drawn_ = true;
}

void ProgressDisplay::clear() {
  if (drawn_) stream_.print("\r\033[K");
  drawn_ = false;
}

}  // namespace reshardcheck::cli
