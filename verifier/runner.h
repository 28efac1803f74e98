// Runner: what a campaign, a shrinker and a command line ask for verdicts.
//
// It hides where a case runs. LocalRunner runs it in this process; a WorkerRunner (verifier/worker) gives it to worker
// processes, which a subject may crash, hang or scribble over. Callers see the same verdicts either way.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/layout/case.h"
#include "core/subject/subject.h"
#include "verifier/executor.h"
#include "verifier/verdict.h"

namespace reshardcheck {

class Runner {
 public:
  virtual ~Runner() = default;
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// The verdict on a valid case, or an Error when it was not run: it needs more memory or ranks than there are, or the
  /// runner is broken(). For sequences see Executor::run.
  virtual Result<Verdict> run(const Case& value, SequenceStep step = {}) = 0;

  /// Cases of more ranks are not run.
  [[nodiscard]] virtual std::int64_t max_world_ranks() const { return std::numeric_limits<std::int64_t>::max(); }

  /// True when cases run in other processes, which a subject may bring down.
  [[nodiscard]] virtual bool isolated() const { return false; }

  /// Why no case can be run any more (workers do not start, say), in one line, or nothing. Not the subject's fault.
  [[nodiscard]] virtual std::optional<std::string> broken() const { return std::nullopt; }
};

/// Makes a runner for a subject, as --subject names it. The Error is the user's: an unknown subject, a library that
/// cannot be loaded.
using MakeRunner = std::function<Result<std::unique_ptr<Runner>>(std::string_view subject)>;

/// Runs cases in this process, with an executor and a subject that outlive it.
class LocalRunner final : public Runner {
 public:
  LocalRunner(Executor& executor, Subject& subject) : executor_(executor), subject_(subject) {}
  Result<Verdict> run(const Case& value, SequenceStep step = {}) override {
    return executor_.run(value, subject_, step);
  }

 private:
  Executor& executor_;
  Subject& subject_;
};

/// Runners in this process, on a sim world each.
MakeRunner local_runners(const ExecutorOptions& options = {});

}  // namespace reshardcheck
