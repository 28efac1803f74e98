#include "verifier/runner.h"

#include "core/subject/registry.h"

namespace reshardcheck {
namespace {

class SimRunner final : public Runner {
 public:
  SimRunner(std::unique_ptr<Subject> subject, const ExecutorOptions& options)
      : subject_(std::move(subject)), executor_(options) {}
  Result<Verdict> run(const Case& value, SequenceStep step) override { return executor_.run(value, *subject_, step); }

 private:
  std::unique_ptr<Subject> subject_;  // outlives the sessions that the executor keeps
  Executor executor_;
};

}  // namespace

MakeRunner local_runners(const ExecutorOptions& options) {
  return [options](std::string_view name) -> Result<std::unique_ptr<Runner>> {
    Result<std::unique_ptr<Subject>> subject = make_subject(name);
    if (!subject) return subject.error();
    return std::unique_ptr<Runner>(std::make_unique<SimRunner>(*std::move(subject), options));
  };
}

}  // namespace reshardcheck
