// Listener: a socket in a private folder at which one worker may report, and the secret that it has to know; and the
// worker's way there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/layout/result.h"

namespace reshardcheck {

class Listener {
 public:
  /// Makes the folder (mode 0700, under TMPDIR or /tmp), the socket and the secret.
  static Result<Listener> open();
  ~Listener();  // and takes them away again
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& secret() const { return secret_; }

  /// The non-blocking socket to the next process of this user that connects; the caller closes it. Nothing when
  /// `give_up` says so, which is asked now and then, or when the time is up.
  int accept(std::int64_t deadline_ms, const std::function<bool()>& give_up);

 private:
  Listener() = default;
  std::string folder_;
  std::string secret_;
  int socket_ = -1;
};

/// What a worker finds in a listener's folder.
struct Connection {
  int socket = -1;  // connected; the caller closes it
  std::string secret;
};
Result<Connection> connect_to_listener(const std::string& folder);

}  // namespace reshardcheck
