// The handler resets itself, so that a second signal kills at once.
#include "cli/interrupt.h"

#include <csignal>

namespace reshardcheck::cli {
namespace {

// A signal handler can reach nothing but static storage.
volatile std::sig_atomic_t signals_seen = 0;

void note_signal(int signal) {
  signals_seen = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signals_seen = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::interrupted() { return signals_seen != 0; }

}  // namespace reshardcheck::cli
