#include "verifier/worker/host.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "core/layout/notation.h"
#include "core/subject/line_channel.h"
#include "core/subject/registry.h"
#include "verifier/executor.h"
#include "verifier/worker/listener.h"
#include "verifier/worker/protocol.h"

namespace reshardcheck {
namespace {

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
    const Result<Connection> driver = connect_to_listener(options_.folder);
    if (!driver) return driver.error();
    channel_ = LineChannel(driver->socket);
    const WorkerHello hello{worker_protocol, driver->secret, std::string(world_.name()), options_.max_world_ranks};
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
      patience_.start_ms = request.start_ms * 11 / 12;  // it ends before the driver's own
      return std::nullopt;
    }
    WorkerReply reply;
    if (request.kind == WorkerRequest::Kind::run) {
      Result<Verdict> verdict = run(request);
      if (verdict.ok()) {
        reply.verdict = *std::move(verdict);
      } else {
        reply.refusal = verdict.error().reason;
      }
    } else if (const Result<Subject*> subject = subject_named(request.subject); !subject) {
      reply.refusal = subject.error().reason;
    }
    reply.spent = world_.spent();
    return reply;
  }

  Result<Verdict> run(const WorkerRequest& request) {
    const Result<Case> value = parse_case(request.text);
    if (!value) return value.error();
    case_ = *value;  // sessions that stay open for the next step keep what they were given
    patience_.answer_ms = request.deadline_ms * 8 / 5;  // of the driver's bound, which is twice the deadline
    const Result<Subject*> subject = prepared_subject(request.subject);
    if (!subject) return subject.error();
    executor_->set_deadline_ms(request.deadline_ms);
    return executor_->run(case_, **subject, request.step);
  }

  /// The subject, with all that has to come up before it can run the case. The driver is told of what takes its time.
  Result<Subject*> prepared_subject(const std::string& name) {
    const auto known = subjects_.find(name);
    if (known != subjects_.end() && !known->second->starts_processes()) return known->second.get();
    tell(WorkerNotice::preparing);
    const Result<Subject*> subject = subject_named(name);
    if (subject.ok() && (*subject)->starts_processes()) {
      (*subject)->prepare(case_, world_.local_ranks(case_.world_ranks()), patience_);
      world_.exchange("", 0);  // all are ready; one that is lost will be missed in the run
    }
    tell(WorkerNotice::ready);
    return subject;
  }

  void tell(WorkerNotice notice) {
    if (world_.process() == 0) channel_.write(to_line(notice), worker_send_ms);
  }

  /// A subject that one process cannot make (its host lacks the library, say) is refused by all: the others would wait
  /// for it in the first call.
  Result<Subject*> subject_named(const std::string& name) {
    const auto known = subjects_.find(name);
    if (known != subjects_.end()) return known->second.get();
    Result<std::unique_ptr<Subject>> made = make_subject(name, patience_);
    const std::vector<std::string> refusals = world_.exchange(made.ok() ? "" : made.error().reason, 0);
    if (refusals.empty()) return Error{"the processes of the world have lost each other"};
    const auto refused = std::find_if(refusals.begin(), refusals.end(), [](const auto& each) { return !each.empty(); });
    if (refused == refusals.end()) return subjects_.emplace(name, *std::move(made)).first->second.get();
    const bool all_alike = std::count(refusals.begin(), refusals.end(), *refused) == std::ssize(refusals);
    return Error{all_alike ? *refused : fmt::format("on process {}: {}", refused - refusals.begin(), *refused)};
  }

  World& world_;
  HostOptions options_;
  LineChannel channel_;
  std::atomic<bool> busy_ = false;
  std::jthread watch_;
  std::map<std::string, std::unique_ptr<Subject>> subjects_;  // outlive the sessions that the executor keeps
  Patience patience_;
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
