// Ctrl-C as a question a long command can ask: the first one ends the search in order, the second one kills it.
#pragma once

namespace reshardcheck::cli {

/// While one lives, SIGINT and SIGTERM are noted instead of killing the process; the second signal kills it. At most
/// one lives at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] static bool interrupted();
};

}  // namespace reshardcheck::cli
