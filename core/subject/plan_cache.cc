// Plan cache: a hash that reads little of a geometry, then a comparison that reads all of it, which costs nothing
// when the layouts are the same object, as the layouts of equal geometries in a mix are.
#include "core/subject/plan_cache.h"

#include <algorithm>

namespace reshardcheck {
namespace {

constexpr std::size_t max_plans = 4'096;  // of one case; beyond that the cache starts anew

class Hash {
 public:
  void add(std::uint64_t value) {
    state_ = (state_ ^ value) * 0x9e3779b97f4a7c15ULL;
    state_ ^= state_ >> 29;
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add(int value) { add(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))); }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x2545f4914f6cdd1dULL;
};

void add_layout(Hash& hash, const Layout& layout, const CacheKey& key) {
  hash.add(static_cast<std::uint64_t>(layout.dims()));
  if (key.shape) {
    for (const std::int64_t extent : layout.shape()) hash.add(extent);
  }
  for (const std::int64_t extent : layout.mesh().extents()) hash.add(extent);
  hash.add(static_cast<std::uint64_t>(layout.mesh().ranks().front()));
  hash.add(static_cast<std::uint64_t>(layout.mesh().ranks().back()));
  if (!key.placements) return;
  for (const Placement& placement : layout.placements()) {
    hash.add(placement.dim);
    hash.add(static_cast<int>(placement.rule));
  }
}

}  // namespace

std::shared_ptr<const PlannedTensor> PlanCache::find_or_make(const TensorCase& tensor, std::int64_t world_ranks,
                                                             const std::function<Plan()>& make) {
  const std::uint64_t key = hash(tensor);
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = plans_.equal_range(key);
  const auto found = std::find_if(begin, end, [&](const auto& entry) { return matches(*entry.second, tensor); });
  if (found != end) return found->second;
  if (plans_.size() >= max_plans) plans_.clear();
  Plan plan = make();
  PlanIndex index(plan, world_ranks);
  auto planned = std::make_shared<const PlannedTensor>(
      PlannedTensor{tensor.source, tensor.target, tensor.path, std::move(plan), std::move(index)});
  plans_.emplace(key, planned);
  return planned;
}

void PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  plans_.clear();
}

void PlanCache::serve(std::int64_t world_ranks, const Topology& topology) {
  const std::lock_guard lock(mutex_);
  if (world_ranks == world_ranks_ && topology == topology_) return;
  world_ranks_ = world_ranks;
  topology_ = topology;
  plans_.clear();
}

bool PlanCache::matches(const PlannedTensor& planned, const TensorCase& tensor) const {
  return planned.path == tensor.path && same(planned.source, tensor.source) && same(planned.target, tensor.target);
}

bool PlanCache::same(const Layout& a, const Layout& b) const {
  if (key_.shape && key_.placements) return a == b;
  return a.dims() == b.dims() && a.mesh() == b.mesh() && (!key_.shape || a.shape() == b.shape()) &&
         (!key_.placements || std::ranges::equal(a.placements(), b.placements()));
}

std::uint64_t PlanCache::hash(const TensorCase& tensor) const {
  Hash hash;
  add_layout(hash, tensor.source, key_);
  add_layout(hash, tensor.target, key_);
  hash.add(static_cast<int>(tensor.path));
  return hash.value();
}

}  // namespace reshardcheck
