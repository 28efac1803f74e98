// The reference subject: looks up the plan of every tensor of the call, and lets the engine execute them.
#include "core/subject/reference.h"

#include <utility>

namespace reshardcheck {

/// One rank's session. It remembers the plan of each place in the batch, because calls repeat.
class ReferenceSubject::CallSession : public Session {
 public:
  CallSession(ReferenceSubject& subject, const SessionOptions& options) : subject_(subject), options_(options) {}

  Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
    const Deviation* deviation = subject_.deviation_.get();
    if (deviation == nullptr) return move(endpoint, batch.tensors, batch.first_tensor, nullptr);

    CallContext context{endpoint, batch.tensors, batch.first_tensor, memory_, subject_.memory_};
    if (deviation->before) {
      if (std::optional<Outcome> early = deviation->before(context)) {
        ++memory_.call;
        return *std::move(early);
      }
    }
    std::span<const BatchTensor> seen = batch.tensors;
    if (deviation->see || deviation->engine.reach_bytes == 0) {
      seen_.assign(seen.begin(), seen.end());
      if (deviation->engine.reach_bytes == 0) hide_padding();
      if (deviation->see) deviation->see(seen_, memory_);
      seen = seen_;
    }
    Outcome outcome = move(endpoint, seen, batch.first_tensor, &deviation->engine);
    if (outcome.is_done() && deviation->after) deviation->after(context);
    ++memory_.call;
    return outcome;
  }

 private:
  Outcome move(Endpoint& endpoint, std::span<const BatchTensor> tensors, std::size_t first_tensor,
               const EngineDeviation* deviation) {
    work_.clear();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const PlannedTensor& planned = planned_for(*tensors[i].spec, first_tensor + i, endpoint.world_ranks());
      work_.push_back({&tensors[i], &planned.plan, &planned.index});
    }
    return engine_.run(endpoint, work_, {options_.chunk_bytes, deviation});
  }

  /// A mutant that stays inside its tensors stays off their padding, too: places end where the elements do.
  void hide_padding() {
    for (BatchTensor& tensor : seen_) {
      for (auto [local, layout] :
           {std::pair(&tensor.source, &tensor.spec->source), std::pair(&tensor.target, &tensor.spec->target)}) {
        for (std::size_t dim = 0; local->present() && dim < layout->dims(); ++dim) {
          local->shape[dim] = layout->piece(local->mesh_index, dim).owned.size();
        }
      }
    }
  }

  const PlannedTensor& planned_for(const TensorCase& tensor, std::size_t place, Rank world_ranks) {
    if (planned_.size() <= place) planned_.resize(place + 1);
    std::shared_ptr<const PlannedTensor>& planned = planned_[place];
    if (planned == nullptr || !subject_.plans_.matches(*planned, tensor)) {
      planned =
          subject_.plans_.find_or_make(tensor, world_ranks, [&] { return subject_.make(tensor, options_.topology); });
    }
    return *planned;
  }

  ReferenceSubject& subject_;
  SessionOptions options_;
  Engine engine_;
  RankMemory memory_;
  std::vector<std::shared_ptr<const PlannedTensor>> planned_;  // by tensor of the case
  std::vector<EngineTensor> work_;
  std::vector<BatchTensor> seen_;
};

ReferenceSubject::ReferenceSubject(std::string name, PlannerKind planner) : name_(std::move(name)), planner_(planner) {}

ReferenceSubject::ReferenceSubject(std::string name, Deviation deviation)
    : name_(std::move(name)),
      planner_(deviation.planner),
      deviation_(std::make_unique<const Deviation>(std::move(deviation))),
      plans_(deviation_->cache_key) {}

std::unique_ptr<Session> ReferenceSubject::open(Endpoint& endpoint, const SessionOptions& options) {
  plans_.serve(endpoint.world_ranks(), options.topology);
  return std::make_unique<CallSession>(*this, options);
}

bool ReferenceSubject::promises_minimal_traffic() const {
  return deviation_ != nullptr ? deviation_->promises_minimal_traffic : planner_ == PlannerKind::replica_aware;
}

std::optional<Plan> ReferenceSubject::plan(const TensorCase& tensor, const SessionOptions& options) {
  return make(tensor, options.topology);
}

Plan ReferenceSubject::make(const TensorCase& tensor, const Topology& topology) const {
  const PlannerKind planner = planner_for(tensor.path, planner_);
  const PlanContext context{tensor, topology, planner};
  std::optional<Plan> plan;
  if (deviation_ != nullptr && deviation_->plan) plan = deviation_->plan(context);
  if (!plan) plan = make_plan(planner, tensor.source, tensor.target, topology);
  if (deviation_ != nullptr && deviation_->bend) deviation_->bend(*plan, context);
  return *std::move(plan);
}

}  // namespace reshardcheck
