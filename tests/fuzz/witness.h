// Witness: a subject around another that looks at what the other delivered, with its own eyes.
//
// It knows no fill, poison, executor or judge. When the last rank comes back from a call with "done", it compares every
// target element with what the sources hold at the same global index, by the naive owner map. For the sim
// world, whose ranks live in one thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/subject/subject.h"
#include "verifier/naive.h"

namespace reshardcheck {

class Witness final : public Subject {
 public:
  explicit Witness(std::unique_ptr<Subject> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::optional<std::string> unsupported(const Case& value) const override {
    return inner_->unsupported(value);
  }
  void begin_case() override {
    open_calls_.clear();
    whole_calls = wrong_elements = 0;
    inner_->begin_case();
  }
  std::unique_ptr<Session> open(Endpoint& endpoint, const SessionOptions& options) override {
    return std::make_unique<WitnessSession>(*this, inner_->open(endpoint, options));
  }

  // Of the case at hand.
  std::int64_t whole_calls = 0;  // that every rank came back from with done
  std::int64_t wrong_elements = 0;

 private:
  class WitnessSession final : public Session {
   public:
    WitnessSession(Witness& witness, std::unique_ptr<Session> inner) : witness_(witness), inner_(std::move(inner)) {}
    Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
      Outcome outcome = inner_->reshard(endpoint, batch);
      const int call = call_++;
      if (outcome.is_done()) witness_.came_back(call, endpoint.world_ranks(), batch);
      return outcome;
    }

   private:
    Witness& witness_;
    std::unique_ptr<Session> inner_;
    int call_ = 0;
  };

  void came_back(int call, Rank world_ranks, const Batch& batch) {
    std::vector<std::vector<BatchTensor>>& ranks = open_calls_[call];
    ranks.emplace_back(batch.tensors.begin(), batch.tensors.end());
    if (std::ssize(ranks) < world_ranks) return;
    ++whole_calls;
    for (std::size_t tensor = 0; tensor < batch.tensors.size(); ++tensor) look_at(tensor, ranks);
    open_calls_.erase(call);
  }

  void look_at(std::size_t tensor, const std::vector<std::vector<BatchTensor>>& ranks) {
    const TensorCase& spec = *ranks.front()[tensor].spec;
    const auto width = static_cast<std::size_t>(width_bytes(spec.dtype));
    const NaiveLayout source(spec.shape(), spec.source.mesh(), spec.source.placements());
    const NaiveLayout target(spec.shape(), spec.target.mesh(), spec.target.placements());
    std::multimap<std::int64_t, const std::byte*> truth;  // by global index: a provenance fill tells replicas apart
    for (const auto& rank : ranks) {
      for_each(source, rank[tensor].source, width,
               [&](std::int64_t index, const std::byte* element) { truth.emplace(index, element); });
    }
    for (const auto& rank : ranks) {
      for_each(target, rank[tensor].target, width, [&](std::int64_t index, const std::byte* element) {
        const auto [first, last] = truth.equal_range(index);
        const bool right =
            std::any_of(first, last, [&](const auto& each) { return std::memcmp(each.second, element, width) == 0; });
        if (!right) ++wrong_elements;
      });
    }
  }

  /// Calls visit(row-major global index, its bytes) for each element that is no padding.
  template <typename Visit>
  static void for_each(const NaiveLayout& layout, const LocalTensor& local, std::size_t width, const Visit& visit) {
    if (!local.present()) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> places{{0, 0}};  // global index, local offset in elements
    for (std::size_t dim = 0; dim < layout.shape().size(); ++dim) {
      std::vector<std::pair<std::int64_t, std::int64_t>> finer;
      const std::vector<std::int64_t>& indices = layout.indices(local.mesh_index, dim);
      for (const auto& [global, offset] : places) {
        for (std::size_t i = 0; i < indices.size(); ++i) {
          if (indices[i] == NaiveLayout::padding) continue;
          finer.emplace_back(global * layout.shape()[dim] + indices[i],
                             offset + static_cast<std::int64_t>(i) * local.strides[dim]);
        }
      }
      places = std::move(finer);
    }
    for (const auto& [global, offset] : places) visit(global, local.data + offset * static_cast<std::int64_t>(width));
  }

  std::unique_ptr<Subject> inner_;
  std::map<int, std::vector<std::vector<BatchTensor>>> open_calls_;  // by call: the ranks that came back so far
};

}  // namespace reshardcheck
