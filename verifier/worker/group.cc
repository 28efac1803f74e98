#include "verifier/worker/group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>

#include "core/subject/guardian.h"
#include "verifier/worker/launcher_words.h"
#include "verifier/worker/listener.h"
#include "verifier/worker/output_tail.h"

namespace reshardcheck {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t remembered_cases = 64;  // of which the median is taken
constexpr std::int64_t median_factor = 5;
constexpr std::int64_t bytes_per_ms = 100'000;
constexpr std::int64_t end_ms = 5'000;    // for a lost worker, and a launcher that cleans up after it, to end
constexpr std::int64_t grace_ms = 2'000;  // for a launcher to stop what it started, before it is killed itself
constexpr std::int64_t grace_seconds = grace_ms / 1'000;

/// Open MPI's mpirun gives the ranks beside one that died a second before it kills them and says who died. The verdict
/// waits for that, and there is nothing that they would do with it.
std::vector<std::string> launcher_environment() {
  const char* const name = "OMPI_MCA_odls_base_sigkill_timeout";
  if (std::getenv(name) != nullptr) return {};
  return {std::string(name) + "=0"};
}

/// In whole seconds, so that reports of one hang are the same text from run to run.
std::string short_time(std::int64_t time_ms) {
  return time_ms < 1'000 ? fmt::format("{} ms", time_ms) : fmt::format("{} s", (time_ms + 500) / 1'000);
}

std::int64_t milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

}  // namespace

class WorkerGroup::Implementation {
 public:
  explicit Implementation(WorkerOptions options) : options_(std::move(options)), output_(options_.output_file) {}
  ~Implementation() {
    if (!running()) return;
    channel_.write(to_line(WorkerRequest{}), worker_send_ms);
    close_channel();
    child_.wait(end_ms);
    child_.stop(grace_ms);
  }

  [[nodiscard]] const WorkerOptions& options() const { return options_; }
  [[nodiscard]] std::int64_t max_world_ranks() const { return max_world_ranks_; }
  [[nodiscard]] bool running() const { return channel_.socket() >= 0; }

  Status start() {
    if (running()) return Ok{};
    Result<Listener> listener = Listener::open();
    if (!listener) return listener.error();
    ChildOptions child;
    child.words = options_.launch;
    for (const std::string& word : {options_.binary, std::string("worker"), std::string("--world"), options_.world,
                                    std::string("--channel"), listener->folder()}) {
      child.words.push_back(word);
    }
    child.output = output_.descriptor();
    child.environment = launcher_environment();
    output_.forget();
    Result<ChildProcess> started = ChildProcess::start(child);
    if (!started) return started.error();
    child_ = *std::move(started);
    // A worker ends itself when this process is gone; a launcher does not.
    if (!options_.launch.empty()) guardian_ = Guardian::watch(child_, listener->folder(), grace_seconds);
    const Status connected = connect(*listener);
    if (!connected) {
      stop();
      return connected;
    }
    WorkerRequest configure;
    configure.kind = WorkerRequest::Kind::configure;
    configure.executor = options_.executor;
    configure.start_ms = options_.start_ms;
    if (channel_.write(to_line(configure), worker_send_ms) == ChannelStatus::ok) return Ok{};
    stop();
    return Error{"the worker was lost right after its start"};
  }

  WorkerAnswer ask(WorkerRequest request, std::int64_t bytes) {
    const Status started = start();
    if (!started) return {WorkerAnswer::Kind::not_started, {}, started.error().reason};
    output_.forget();
    const bool loads = request.kind == WorkerRequest::Kind::load;  // a start of its own
    const std::int64_t bound = loads ? std::max(options_.start_ms, bound_ms(bytes)) : bound_ms(bytes);
    request.deadline_ms = std::max<std::int64_t>(bound / 2, 1);
    Reading reading;
    reading.status = channel_.write(to_line(request), worker_send_ms);
    if (reading.status == ChannelStatus::ok) reading = read_reply(bound);
    const ChannelStatus status = reading.status;
    if (status == ChannelStatus::deadline) {
      stop();
      return {WorkerAnswer::Kind::hung, {}, "no answer in " + short_time(reading.bound_ms)};
    }
    if (status != ChannelStatus::ok) return {WorkerAnswer::Kind::crashed, {}, last_words()};
    Result<WorkerReply> reply = parse_reply(reading.line);
    if (!reply) {
      stop();
      return {WorkerAnswer::Kind::crashed, {}, "the worker answers with " + reply.error().reason};
    }
    add_output(request.kind, *reply);
    if (request.kind == WorkerRequest::Kind::run) remember(milliseconds_since(reading.begin));
    if (reply->spent) {
      close_channel();
      child_.wait(end_ms);
      stop();
    }
    return {WorkerAnswer::Kind::reply, *std::move(reply), ""};
  }

  [[nodiscard]] std::int64_t bound_ms(std::int64_t bytes) const {
    std::vector<std::int64_t> times(times_ms_.begin(), times_ms_.end());
    std::int64_t median = 0;
    if (!times.empty()) {
      const auto middle = times.begin() + std::ssize(times) / 2;
      std::nth_element(times.begin(), middle, times.end());
      median = *middle;
    }
    return options_.case_ms + median_factor * median + bytes / bytes_per_ms;
  }

 private:
  struct Reading {
    ChannelStatus status = ChannelStatus::ok;
    std::string line;
    Clock::time_point begin;    // of the time that is the case's
    std::int64_t bound_ms = 0;  // of the last wait
  };

  /// The reply, for which a worker that says it prepares has a start's time more.
  Reading read_reply(std::int64_t bound) {
    Reading reading{ChannelStatus::ok, "", Clock::now(), bound};
    reading.status = channel_.read(reading.line, bound);
    if (reading.status != ChannelStatus::ok || parse_notice(reading.line) != WorkerNotice::preparing) return reading;
    reading.bound_ms = options_.start_ms;
    reading.status = channel_.read(reading.line, reading.bound_ms);
    if (reading.status != ChannelStatus::ok || parse_notice(reading.line) != WorkerNotice::ready) return reading;
    reading.begin = Clock::now();
    reading.bound_ms = bound;
    reading.status = channel_.read(reading.line, bound);
    return reading;
  }

  Status connect(Listener& listener) {
    const Clock::time_point begin = Clock::now();
    while (true) {
      const std::int64_t left = options_.start_ms - milliseconds_since(begin);
      const int socket = listener.accept(left, [this] { return child_.poll().has_value() || options_.cancelled(); });
      if (socket < 0) return Error{not_started()};
      channel_ = LineChannel(socket);
      std::string line;
      const ChannelStatus status = channel_.read(line, std::max<std::int64_t>(left, 1));
      const Result<WorkerHello> hello = parse_hello(line);
      const bool known = status == ChannelStatus::ok && hello.ok() && hello->secret == listener.secret();
      if (known && hello->protocol == worker_protocol && hello->world == options_.world) {
        max_world_ranks_ = hello->max_world_ranks;
        return Ok{};
      }
      close_channel();
      if (known) return Error{fmt::format("the worker is of another build or hosts another world: {}", hello->world)};
    }
  }

  std::string not_started() {
    if (options_.cancelled()) return "interrupted before the worker came up";
    const std::optional<ExitStatus> status = child_.poll();
    const std::string words = output_.last_lines(3);
    return fmt::format("{} {}{}{}", options_.launch.empty() ? "the worker" : options_.launch.front(),
                       status ? to_text(*status)
                              : fmt::format("did not come up in {:g} s", static_cast<double>(options_.start_ms) / 1000),
                       words.empty() ? "" : ": ", words);
  }

  /// How the group ended, and what it printed at the end.
  std::string last_words() {
    close_channel();
    const std::optional<ExitStatus> status = child_.wait(end_ms);
    end_child(grace_ms);
    if (const std::optional<std::string> fate = fate_of_ranks(output_.text())) return *fate;
    std::string words = output_.last_lines(options_.launch.empty() ? 1 : 3);
    if (!words.empty()) words = fmt::format("; it printed: {}", words);
    return fmt::format("{} {}{}", options_.launch.empty() ? "the process" : options_.launch.front(),
                       status ? to_text(*status) : std::string("closed its channel and went on"), words);
  }

  /// What a subject printed before it could not be loaded, or a process of it died, says why.
  void add_output(WorkerRequest::Kind kind, WorkerReply& reply) {
    const bool crashed = reply.verdict && reply.verdict->kind == VerdictKind::crash;
    const bool not_loaded = kind == WorkerRequest::Kind::load && !reply.refusal.empty();
    if (!crashed && !not_loaded) return;
    const std::string words = output_.last_lines(1);
    if (!words.empty()) (crashed ? reply.verdict->detail : reply.refusal) += "; it printed: " + words;
  }

  void remember(std::int64_t elapsed_ms) {
    times_ms_.push_back(elapsed_ms);
    if (times_ms_.size() > remembered_cases) times_ms_.pop_front();
  }

  void end_child(std::int64_t wait_ms) {
    child_.stop(wait_ms);
    guardian_ = {};
  }

  void close_channel() {
    if (channel_.socket() >= 0) close(channel_.socket());
    channel_ = LineChannel();
  }

  void stop() {
    close_channel();
    end_child(options_.launch.empty() ? 0 : grace_ms);
  }

  WorkerOptions options_;
  OutputTail output_;
  Guardian guardian_;
  ChildProcess child_;
  LineChannel channel_;
  std::int64_t max_world_ranks_ = 0;
  std::deque<std::int64_t> times_ms_;
};

WorkerGroup::WorkerGroup(WorkerOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(options))) {}
WorkerGroup::~WorkerGroup() = default;

const WorkerOptions& WorkerGroup::options() const { return implementation_->options(); }
Status WorkerGroup::start() { return implementation_->start(); }
std::int64_t WorkerGroup::max_world_ranks() const { return implementation_->max_world_ranks(); }
WorkerAnswer WorkerGroup::ask(WorkerRequest request, std::int64_t bytes) {
  return implementation_->ask(std::move(request), bytes);
}
std::int64_t WorkerGroup::bound_ms(std::int64_t bytes) const { return implementation_->bound_ms(bytes); }

}  // namespace reshardcheck
