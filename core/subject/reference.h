// The reference subject: a reshard engine over any planner, and, with a deviation, every mutant.
//
// It supports everything a case can say: all dtypes, strides, padding (which it leaves alone), empty shards, 0-d
// tensors, overlapping source and target ranks, idle ranks, batches and repeated refits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/subject/deviation.h"
#include "core/subject/plan_cache.h"
#include "core/subject/subject.h"

namespace reshardcheck {

class ReferenceSubject : public Subject {
 public:
  ReferenceSubject(std::string name, PlannerKind planner);
  ReferenceSubject(std::string name, Deviation deviation);

  [[nodiscard]] std::string_view name() const override { return name_; }
  std::unique_ptr<Session> open(Endpoint& endpoint, const SessionOptions& options) override;
  void begin_case() override { plans_.clear(); }
  [[nodiscard]] bool promises_minimal_traffic() const override;
  [[nodiscard]] std::optional<Plan> plan(const TensorCase& tensor, const SessionOptions& options) override;

 private:
  class CallSession;

  [[nodiscard]] Plan make(const TensorCase& tensor, const Topology& topology) const;

  std::string name_;
  PlannerKind planner_ = PlannerKind::replica_aware;
  std::unique_ptr<const Deviation> deviation_;  // null: none
  PlanCache plans_;
  ProcessMemory memory_;
};

}  // namespace reshardcheck
