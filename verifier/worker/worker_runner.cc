#include "verifier/worker/worker_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

constexpr int starts_before_broken = 3;
constexpr auto shortest_pause = std::chrono::milliseconds(20);  // between starts
constexpr auto longest_pause = std::chrono::milliseconds(1'000);

/// Groups that nobody uses at the moment.
class GroupPool {
 public:
  explicit GroupPool(WorkerOptions options) : options_(std::move(options)) {}

  std::unique_ptr<WorkerGroup> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<WorkerGroup>(options_);
    std::unique_ptr<WorkerGroup> group = std::move(idle_.back());
    idle_.pop_back();
    return group;
  }
  void give(std::unique_ptr<WorkerGroup> group) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(group));
  }

 private:
  WorkerOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerGroup>> idle_;
};

Verdict verdict_of(VerdictKind kind, std::string detail) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.detail = std::move(detail);
  verdict.oracle = "worker";
  return verdict;
}

class WorkerRunner final : public Runner {
 public:
  WorkerRunner(std::shared_ptr<GroupPool> pool, std::string subject)
      : pool_(std::move(pool)), group_(pool_->take()), subject_(std::move(subject)) {}
  ~WorkerRunner() override { pool_->give(std::move(group_)); }

  /// Has the worker load the subject. The Error is the subject's; a worker that does not start makes the runner broken.
  Status load() {
    WorkerRequest request;
    request.kind = WorkerRequest::Kind::load;
    request.subject = subject_;
    const WorkerAnswer answer = ask(request, 0);
    switch (answer.kind) {
      case WorkerAnswer::Kind::reply:
        if (!answer.reply.refusal.empty()) return Error{answer.reply.refusal};
        break;
      case WorkerAnswer::Kind::crashed:
      case WorkerAnswer::Kind::hung:
        return Error{fmt::format("{} cannot be loaded: {}", subject_, answer.what)};
      case WorkerAnswer::Kind::not_started:
        break;
    }
    return Ok{};
  }

  Result<Verdict> run(const Case& value, SequenceStep step) override {
    if (broken_) return Error{*broken_};
    const Result<std::int64_t> bytes = Executor::bytes_needed(value);
    if (!bytes) return bytes.error();
    if (value.world_ranks() > group_->max_world_ranks() && group_->max_world_ranks() > 0) {
      return Error{fmt::format("the case has {} ranks, the {} world holds {}", value.world_ranks(),
                               group_->options().world, group_->max_world_ranks())};
    }
    WorkerRequest request;
    request.kind = WorkerRequest::Kind::run;
    request.subject = subject_;
    request.text = to_text(value);
    request.step = step;
    WorkerAnswer answer = ask(request, *bytes);
    switch (answer.kind) {
      case WorkerAnswer::Kind::crashed:
        return verdict_of(VerdictKind::crash, answer.what);
      case WorkerAnswer::Kind::hung:
        return verdict_of(VerdictKind::hang, answer.what + ": the subject does not come back");
      case WorkerAnswer::Kind::not_started:
        return Error{answer.what};
      case WorkerAnswer::Kind::reply:
        break;
    }
    if (answer.reply.verdict) return *std::move(answer.reply.verdict);
    return Error{answer.reply.refusal};
  }

  [[nodiscard]] std::int64_t max_world_ranks() const override {
    return group_->max_world_ranks() > 0 ? group_->max_world_ranks() : Runner::max_world_ranks();
  }
  [[nodiscard]] bool isolated() const override { return true; }
  [[nodiscard]] std::optional<std::string> broken() const override { return broken_; }

 private:
  /// A group that does not start gets a few tries: a machine may be short of something for a moment. One that has come
  /// up before gets as long as a start may take: a host that was cut off comes back.
  WorkerAnswer ask(const WorkerRequest& request, std::int64_t bytes) {
    const auto patience = std::chrono::milliseconds(group_->options().start_ms);
    const auto begin = std::chrono::steady_clock::now();
    auto pause = shortest_pause;
    for (int tried = 1;; ++tried) {
      WorkerAnswer answer = group_->ask(request, bytes);
      if (answer.kind != WorkerAnswer::Kind::not_started) return answer;
      const bool came_up_before = group_->max_world_ranks() > 0;
      const bool patient = came_up_before && std::chrono::steady_clock::now() - begin < patience;
      if (group_->options().cancelled() || (tried >= starts_before_broken && !patient)) {
        broken_ = answer.what;
        return answer;
      }
      if (!came_up_before) continue;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, longest_pause);
    }
  }

  std::shared_ptr<GroupPool> pool_;
  std::unique_ptr<WorkerGroup> group_;
  std::string subject_;
  std::optional<std::string> broken_;
};

}  // namespace

MakeRunner worker_runners(const WorkerOptions& options) {
  return [pool = std::make_shared<GroupPool>(options)](std::string_view subject) -> Result<std::unique_ptr<Runner>> {
    auto runner = std::make_unique<WorkerRunner>(pool, std::string(subject));
    const Status loaded = runner->load();
    if (!loaded) return loaded.error();
    return std::unique_ptr<Runner>(std::move(runner));
  };
}

}  // namespace reshardcheck
