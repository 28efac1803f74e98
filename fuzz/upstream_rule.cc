#include "fuzz/upstream_rule.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include "verifier/local_buffers.h"

namespace reshardcheck {
namespace {

std::byte rule_byte(std::int64_t byte_offset) { return static_cast<std::byte>(byte_offset & 0xff); }

/// Calls visit(byte of the local tensor, its byte offset in the whole tensor) for every byte of real elements, until
/// visit returns false. False when it did.
template <typename Visit>
bool for_each_byte(const LocalTensor& local, const Layout& layout, std::int64_t width_bytes, const Visit& visit) {
  const std::size_t dims = layout.dims();
  if (layout.owned_elements(local.mesh_index) == 0) return true;
  std::vector<std::int64_t> local_index(dims, 0);
  while (true) {
    std::int64_t offset = 0;
    std::int64_t number = 0;
    for (std::size_t dim = 0; dim < dims; ++dim) {
      offset += local_index[dim] * local.strides[dim];
      number = number * layout.shape()[dim] + layout.piece(local.mesh_index, dim).owned.at(local_index[dim]);
    }
    for (std::int64_t byte = 0; byte < width_bytes; ++byte) {
      if (!visit(local.data[offset * width_bytes + byte], number * width_bytes + byte)) return false;
    }
    std::size_t dim = dims;
    while (dim > 0 && ++local_index[dim - 1] == layout.piece(local.mesh_index, dim - 1).owned.size()) {
      local_index[--dim] = 0;
    }
    if (dim == 0) return true;
  }
}

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// The local tensors of one rank, as the rule prepares and judges them.
class RuleRank {
 public:
  RuleRank(const Case& value, Rank rank) : case_(value) {
    buffers_.assign(value, rank);
    constexpr std::size_t alignment = 64;
    const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(buffers_.bytes(), 1));
    memory_.reset(
        static_cast<std::byte*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)));
    RESHARDCHECK_CHECK(memory_ != nullptr);
    std::fill_n(memory_.get(), bytes, std::byte{0});
    buffers_.place(memory_.get());
    for (std::size_t i = 0; i < value.tensors.size(); ++i) {
      const LocalTensor& source = buffers_.tensors()[i].source;
      if (!source.present()) continue;
      for_each_byte(source, value.tensors[i].source, width_bytes(value.tensors[i].dtype),
                    [](std::byte& byte, std::int64_t offset) { return byte = rule_byte(offset), true; });
    }
  }

  [[nodiscard]] std::span<const BatchTensor> tensors() const { return buffers_.tensors(); }

  [[nodiscard]] bool delivered() const {
    for (std::size_t i = 0; i < case_.tensors.size(); ++i) {
      const LocalTensor& target = buffers_.tensors()[i].target;
      if (!target.present()) continue;
      const bool right = for_each_byte(target, case_.tensors[i].target, width_bytes(case_.tensors[i].dtype),
                                       [](std::byte& byte, std::int64_t offset) { return byte == rule_byte(offset); });
      if (!right) return false;
    }
    return true;
  }

 private:
  const Case& case_;
  LocalBuffers buffers_;
  std::unique_ptr<std::byte, FreeMemory> memory_;
};

}  // namespace

bool upstream_rule_fails(const Case& value, Subject& subject, SimWorld& world) {
  std::vector<std::unique_ptr<RuleRank>> ranks;
  for (Rank rank = 0; rank < value.world_ranks(); ++rank) ranks.push_back(std::make_unique<RuleRank>(value, rank));
  bool failed = false;
  const SessionOptions session_options{Topology::of(value.options), value.options.chunk_bytes};
  const RankBody body = [&](Endpoint& endpoint) {
    try {
      const std::unique_ptr<Session> session = subject.open(endpoint, session_options);
      const Batch batch{ranks[static_cast<std::size_t>(endpoint.rank())]->tensors(), 0};
      failed = !session->reshard(endpoint, batch).is_done() || failed;
    } catch (const std::exception&) {  // the test process would have died
      failed = true;
    }
  };
  subject.begin_case();
  Traffic traffic;
  RunOptions options;
  options.world_ranks = value.world_ranks();
  options.seed = value.options.seed;
  const WorldOutcome outcome = world.run(options, body, traffic);
  if (outcome.status != CommStatus::ok || failed) return true;
  return !std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank->delivered(); });
}

}  // namespace reshardcheck
