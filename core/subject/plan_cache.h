// Plan cache: one plan for each geometry, shared by the ranks of a process.
//
// A geometry is what a plan depends on: both layouts (with their shape) and the path, but not the dtype. A large mix
// has about a hundred thousand parameters and about twenty geometries. The topology and the planner are the same for
// all tensors of a case; the cache is emptied between cases, and when ranks join, leave or are wired anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/layout/case.h"
#include "core/plan/plan.h"
#include "core/plan/topology.h"

namespace reshardcheck {

/// A plan with its index and the geometry it was made for.
struct PlannedTensor {
  Layout source;
  Layout target;
  Path path = Path::reshard;
  Plan plan;
  PlanIndex index;
};

/// What the key of the cache holds. Leaving something out is a bug class of its own.
struct CacheKey {
  bool shape = true;  // the extents; the number of dims always counts
  bool placements = true;
};

class PlanCache {
 public:
  explicit PlanCache(CacheKey key = {}) : key_(key) {}

  /// The plan of the tensor's geometry; made, once, by `make`. Threads that ask for a plan in the making wait.
  std::shared_ptr<const PlannedTensor> find_or_make(const TensorCase& tensor, std::int64_t world_ranks,
                                                    const std::function<Plan()>& make);
  void clear();

  /// Says what plans and their indices are made for from now on; those for something else go.
  void serve(std::int64_t world_ranks, const Topology& topology);

  /// True when the cache would answer both tensors with the plan of the geometry.
  [[nodiscard]] bool matches(const PlannedTensor& planned, const TensorCase& tensor) const;

 private:
  [[nodiscard]] bool same(const Layout& a, const Layout& b) const;
  [[nodiscard]] std::uint64_t hash(const TensorCase& tensor) const;

  CacheKey key_;
  std::mutex mutex_;
  std::int64_t world_ranks_ = 0;
  Topology topology_;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const PlannedTensor>> plans_;
};

}  // namespace reshardcheck
