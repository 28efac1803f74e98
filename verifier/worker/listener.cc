#include "verifier/worker/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "verifier/worker/protocol.h"

namespace reshardcheck {
namespace {

Error failed(const std::string& what) { return Error{what + ": " + std::strerror(errno)}; }

Result<std::string> random_word() {
  std::array<unsigned char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return failed("no random bytes");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string word;
  for (const unsigned char byte : bytes) {
    word += digits[byte >> 4];
    word += digits[byte & 15];
  }
  return word;
}

Status write_secret(const std::string& path, const std::string& secret) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return failed(path);
  const bool whole = write(file, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
  close(file);
  if (!whole) return failed(path);
  return Ok{};
}

Result<std::string> read_secret(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(path);
  char text[128];
  const ssize_t size = read(file, text, sizeof text);
  close(file);
  if (size <= 0) return Error{path + ": empty"};
  return std::string(text, static_cast<std::size_t>(size));
}

std::string secret_path(const std::string& folder) { return folder + "/" + std::string(worker_secret_name); }
std::string socket_path(const std::string& folder) { return folder + "/" + std::string(worker_socket_name); }

/// A new stream socket that `attach` binds or connects to the path.
template <typename Attach>
Result<int> socket_at(const std::string& path, Attach attach) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{path + ": too long for a socket; set TMPDIR to a shorter folder"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return failed("no socket");
  if (attach(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address)) return socket;
  const Error error = failed(path);
  close(socket);
  return error;
}

bool of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

Result<Listener> Listener::open() {
  const char* const temporary = std::getenv("TMPDIR");
  std::string folder =
      std::string(temporary == nullptr || *temporary == '\0' ? "/tmp" : temporary) + "/reshardcheck-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return Error{fmt::format("no folder for the worker's socket, {}: {}; set TMPDIR to one that can be written", folder,
                             std::strerror(errno))};
  }
  Listener listener;
  listener.folder_ = folder;
  Result<std::string> secret = random_word();
  if (!secret) return secret.error();
  listener.secret_ = *std::move(secret);
  const Status written = write_secret(secret_path(folder), listener.secret_);
  if (!written) return written.error();
  const Result<int> socket = socket_at(socket_path(folder), [](int fresh, const sockaddr* address, socklen_t size) {
    return fcntl(fresh, F_SETFL, O_NONBLOCK) == 0 && bind(fresh, address, size) == 0 && listen(fresh, 4) == 0;
  });
  if (!socket) return socket.error();
  listener.socket_ = *socket;
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : folder_(std::exchange(other.folder_, "")),
      secret_(std::move(other.secret_)),
      socket_(std::exchange(other.socket_, -1)) {}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
  if (folder_.empty()) return;
  unlink(socket_path(folder_).c_str());
  unlink(secret_path(folder_).c_str());
  rmdir(folder_.c_str());
}

int Listener::accept(std::int64_t deadline_ms, const std::function<bool()>& give_up) {
  constexpr int look_ms = 20;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline_ms);
  while (std::chrono::steady_clock::now() < deadline && !give_up()) {
    pollfd wanted{socket_, POLLIN, 0};
    if (poll(&wanted, 1, look_ms) <= 0) continue;
    const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) continue;
    if (of_this_user(connection)) return connection;
    close(connection);
  }
  return -1;
}

Result<Connection> connect_to_listener(const std::string& folder) {
  Result<std::string> secret = read_secret(secret_path(folder));
  if (!secret) return secret.error();
  const Result<int> socket = socket_at(socket_path(folder), [](int fresh, const sockaddr* address, socklen_t size) {
    return connect(fresh, address, size) == 0;
  });
  if (!socket) return socket.error();
  return Connection{*socket, *std::move(secret)};
}

}  // namespace reshardcheck
