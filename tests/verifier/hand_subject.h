// HandSubject: a reshard that needs no plan, for tests of the verifier.
//
// All ranks of a simulated world live in one process, so every rank shows the others its source tensors, and each
// target rank copies its elements one by one from a rank that holds them. What it should do wrong is given as hooks.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/subject/subject.h"
#include "verifier/local_buffers.h"

namespace reshardcheck {

struct HandHooks {
  /// Called on every rank after its targets were delivered; `call` counts reshard calls of the case.
  std::function<void(int call, Rank rank, const Batch& batch)> after = {};
  /// Called instead of the delivery where it is set.
  std::function<Outcome(int call, Endpoint& endpoint, const Batch& batch)> instead = {};
  std::function<std::optional<Plan>(const TensorCase& tensor, const Topology& topology)> plan = {};
  std::optional<std::string> unsupported = {};
  bool promises_minimal_traffic = false;
};

class HandSubject : public Subject {
 public:
  explicit HandSubject(HandHooks hooks = {}) : hooks_(std::move(hooks)) {}

  [[nodiscard]] std::string_view name() const override { return "hand"; }
  void begin_case() override { sources_.clear(); }
  [[nodiscard]] bool promises_minimal_traffic() const override { return hooks_.promises_minimal_traffic; }
  [[nodiscard]] std::optional<Plan> plan(const TensorCase& tensor, const SessionOptions& options) override {
    return hooks_.plan ? hooks_.plan(tensor, options.topology) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> unsupported(const Case&) const override { return hooks_.unsupported; }
  std::unique_ptr<Session> open(Endpoint&, const SessionOptions&) override {
    return std::make_unique<HandSession>(*this);
  }

  /// Copies what `local`, the target of a tensor, should hold from the ranks that hold it.
  void deliver(const TensorCase& spec, const LocalTensor& local, std::size_t tensor) const {
    if (!local.present()) return;
    const int width = width_bytes(spec.dtype);
    for_each_element(spec.target, local, [&](std::int64_t offset, std::int64_t index) {
      std::memcpy(local.data + offset * width, find(spec, tensor, index), static_cast<std::size_t>(width));
    });
  }

  /// Calls visit(local offset, row-major global index) for every element of a local tensor.
  template <typename Visit>
  static void for_each_element(const Layout& layout, const LocalTensor& local, Visit&& visit) {
    const std::int64_t count = elements(layout.shape());
    for (std::int64_t index = 0; index < count; ++index) {
      if (const std::optional<std::int64_t> offset = offset_of(layout, local, index)) visit(*offset, index);
    }
  }

 private:
  class HandSession : public Session {
   public:
    explicit HandSession(HandSubject& subject) : subject_(subject) {}
    Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
      const HandHooks& hooks = subject_.hooks_;
      const int call = call_++;
      if (hooks.instead) return hooks.instead(call, endpoint, batch);
      for (std::size_t i = 0; i < batch.tensors.size(); ++i) {
        const LocalTensor& source = batch.tensors[i].source;
        if (source.present()) subject_.sources_[{batch.first_tensor + i, source.mesh_index}] = source;
      }
      CommStatus status = endpoint.barrier();
      if (status != CommStatus::ok) return Outcome::error("barrier", status);
      for (std::size_t i = 0; i < batch.tensors.size(); ++i) {
        subject_.deliver(*batch.tensors[i].spec, batch.tensors[i].target, batch.first_tensor + i);
      }
      if (hooks.after) hooks.after(call, endpoint.rank(), batch);
      status = endpoint.barrier();
      return status == CommStatus::ok ? Outcome::done() : Outcome::error("barrier", status);
    }

   private:
    HandSubject& subject_;
    int call_ = 0;
  };

  static std::optional<std::int64_t> offset_of(const Layout& layout, const LocalTensor& local, std::int64_t index) {
    const Shape global = global_index_of(layout.shape(), index);
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < global.size(); ++dim) {
      const std::optional<std::int64_t> at = layout.piece(local.mesh_index, dim).owned.find(global[dim]);
      if (!at) return std::nullopt;
      offset += *at * local.strides[dim];
    }
    return offset;
  }

  [[nodiscard]] const std::byte* find(const TensorCase& spec, std::size_t tensor, std::int64_t index) const {
    for (std::size_t m = 0; m < spec.source.mesh().size(); ++m) {
      const LocalTensor& source = sources_.at({tensor, m});
      if (const auto offset = offset_of(spec.source, source, index))
        return source.data + *offset * width_bytes(spec.dtype);
    }
    return nullptr;
  }

  HandHooks hooks_;
  std::map<std::pair<std::size_t, std::size_t>, LocalTensor> sources_;  // by tensor and mesh index
};

}  // namespace reshardcheck
