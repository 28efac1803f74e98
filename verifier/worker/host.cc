#include "verifier/worker/host.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "core/layout/notation.h"
#include "core/subject/line_channel.h"
#include "core/subject/registry.h"
#include "verifier/executor.h"
#include "verifier/worker/protocol.h"

namespace reshardcheck {
namespace {

Result<std::string> read_secret(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Error{path + ": " + std::strerror(errno)};
  char text[128];
  const ssize_t size = read(file, text, sizeof text);
  close(file);
  if (size <= 0) return Error{path + ": empty"};
  return std::string(text, static_cast<std::size_t>(size));
}

Result<int> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Error{path + ": too long for a socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return Error{std::string("no socket: ") + std::strerror(errno)};
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const Error error{path + ": " + std::strerror(errno)};
    close(socket);
    return error;
  }
  return socket;
}

class Host {
 public:
  Host(World& world, HostOptions options) : world_(world), options_(std::move(options)) {}
  ~Host() {
    watch_ = {};
    if (channel_.socket() >= 0) close(channel_.socket());
  }

  Status serve() {
    if (world_.process() == 0) {
      const Status connected = greet();
      if (!connected) {
        world_.exchange(quit_line(), 0);
        return connected;
      }
    }
    while (true) {
      const Result<WorkerRequest> request = next();
      if (!request) return request.error();
      if (request->kind == WorkerRequest::Kind::quit) return Ok{};
      busy_ = true;
      const std::optional<WorkerReply> reply = answer(*request);
      busy_ = false;
      if (reply) {
        // A driver that does not take it is gone: the next request is then to quit, for all processes.
        if (world_.process() == 0) channel_.write(to_line(*reply), worker_send_ms);
        if (reply->spent) {
          if (world_.process() != 0) wait_for_process_zero(request->deadline_ms);
          return Ok{};
        }
      }
    }
  }

 private:
  static std::string quit_line() { return to_line(WorkerRequest{}); }

  Status greet() {
    const Result<std::string> secret = read_secret(options_.folder + "/" + std::string(worker_secret_name));
    if (!secret) return secret.error();
    const Result<int> socket = connect_to(options_.folder + "/" + std::string(worker_socket_name));
    if (!socket) return socket.error();
    channel_ = LineChannel(*socket);
    const WorkerHello hello{worker_protocol, *secret, std::string(world_.name()), options_.max_world_ranks};
    const ChannelStatus said = channel_.write(to_line(hello), worker_send_ms);
    if (said != ChannelStatus::ok) return Error{"the driver does not listen: " + std::string(name(said))};
    if (world_.processes() > 1) watch_ = std::jthread([this](const std::stop_token& stop) { watch_driver(stop); });
    return Ok{};
  }

  /// A launcher stands between the driver and this process, so that no parent's death tells of the driver's. Nobody
  /// waits for a case whose driver is gone, which may hang: the launcher ends the other ranks when this one dies.
  void watch_driver(const std::stop_token& stop) {
    constexpr int look_ms = 20;
    while (!stop.stop_requested()) {
      pollfd driver{channel_.socket(), POLLRDHUP, 0};
      if (poll(&driver, 1, look_ms) <= 0) continue;
      if (busy_) kill(getpid(), SIGKILL);
      poll(nullptr, 0, look_ms);  // between cases the serving thread sees it, too
    }
  }

  /// A process that leaves a spent world takes the others with it, and only process 0 can tell the driver why: this one
  /// leaves when the driver's bound, twice the deadline, has passed for sure.
  static void wait_for_process_zero(std::int64_t deadline_ms) {
    constexpr std::int64_t margin_ms = 1'000;
    std::this_thread::sleep_for(std::chrono::milliseconds(deadline_ms + margin_ms));
  }

  /// The driver's next request, the same for all processes. A driver that is gone has said quit.
  Result<WorkerRequest> next() {
    std::string line;
    if (world_.process() == 0 && channel_.read(line, -1) != ChannelStatus::ok) line = quit_line();
    if (world_.processes() > 1) {
      const std::vector<std::string> lines = world_.exchange(line, 0);
      if (lines.empty()) return Error{"the processes of the world have lost each other"};
      line = lines.front();
    }
    return parse_request(line);
  }

  std::optional<WorkerReply> answer(const WorkerRequest& request) {
    if (request.kind == WorkerRequest::Kind::configure) {
      executor_ = std::make_unique<Executor>(world_, request.executor);
      return std::nullopt;
    }
    WorkerReply reply;
    const Result<Subject*> subject = subject_named(request.subject);
    if (!subject) {
      reply.refusal = subject.error().reason;
    } else if (request.kind == WorkerRequest::Kind::run) {
      run(request, **subject, reply);
    }
    reply.spent = world_.spent();
    return reply;
  }

  Result<Subject*> subject_named(const std::string& name) {
    const auto known = subjects_.find(name);
    if (known != subjects_.end()) return known->second.get();
    Result<std::unique_ptr<Subject>> made = make_subject(name);
    if (!made) return made.error();
    return subjects_.emplace(name, *std::move(made)).first->second.get();
  }

  void run(const WorkerRequest& request, Subject& subject, WorkerReply& reply) {
    const Result<Case> value = parse_case(request.text);
    if (!value) {
      reply.refusal = value.error().reason;
      return;
    }
    case_ = *value;  // sessions that stay open for the next step keep what they were given
    executor_->set_deadline_ms(request.deadline_ms);
    Result<Verdict> verdict = executor_->run(case_, subject, request.step);
    if (verdict.ok()) {
      reply.verdict = *std::move(verdict);
    } else {
      reply.refusal = verdict.error().reason;
    }
  }

  World& world_;
  HostOptions options_;
  LineChannel channel_;
  std::atomic<bool> busy_ = false;
  std::jthread watch_;
  std::map<std::string, std::unique_ptr<Subject>> subjects_;  // outlive the sessions that the executor keeps
  Case case_;
  std::unique_ptr<Executor> executor_ = std::make_unique<Executor>(world_);
};

}  // namespace

Status serve_driver(World& world, const HostOptions& options) {
  if (options.die_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    return Host(world, options).serve();
  } catch (const std::exception& problem) {
    return Error{std::string("the worker cannot go on: ") + problem.what()};
  }
}

}  // namespace reshardcheck
