// A shard is a product of interval lists. Its trailing dims that are whole and dense are one run of bytes; so is each
// interval of the dim before them, when it is dense too. The walk goes through the other dims index by index and
// hands the runs to a stream, in local order.
#include "verifier/fingerprint_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "verifier/fingerprint_stream.h"

namespace reshardcheck {
namespace {

constexpr std::int64_t thread_bytes = std::int64_t{4} << 20;  // a thread is not worth starting for less

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return -floor_divide(-a, b); }

/// The runs of a shard, found once and walked as often as needed. All offsets and lengths in bytes.
class ShardRuns {
 public:
  explicit ShardRuns(const ShardView& shard);

  [[nodiscard]] bool empty() const { return empty_; }
  /// The bytes of the tensor from the first that the shard owns to the last.
  [[nodiscard]] Interval hull() const { return hull_; }

  /// Adds what lies within the bytes `range` of the tensor.
  void add_to(FingerprintStream& stream, Interval range) const { visit({stream, range}, 0, 0, 0); }

 private:
  /// A dim that is walked index by index.
  struct Loop {
    std::span<const Interval> intervals;
    std::int64_t global_stride;
    std::int64_t local_stride;
  };
  struct Walk {
    FingerprintStream& stream;
    Interval range;
  };

  void find_strides(const ShardView& shard, std::span<std::int64_t> global, std::span<std::int64_t> local) const;
  void find_hull(const ShardView& shard, std::span<const std::int64_t> global);
  void visit(const Walk& walk, std::size_t depth, std::int64_t global, std::int64_t local) const;
  void visit_row(const Walk& walk, std::int64_t global, std::int64_t local) const;
  void add_rows(const Walk& walk, std::int64_t global, std::int64_t local, std::int64_t count) const;

  const std::byte* data_;
  bool empty_;
  Interval hull_;
  boost::container::small_vector<Loop, 8> loops_;
  boost::container::small_vector<Interval, 2> runs_;  // within one index of the innermost loop, in local order
  std::int64_t prefetch_bytes_ = fingerprint_prefetch_bytes;
};

ShardRuns::ShardRuns(const ShardView& shard)
    : data_(shard.data), empty_(shard.layout->owned_elements(shard.mesh_index) == 0) {
  if (empty_) return;
  const Layout& layout = *shard.layout;
  const std::size_t dims = layout.dims();
  boost::container::small_vector<std::int64_t, 8> global(dims);
  boost::container::small_vector<std::int64_t, 8> local(dims);
  find_strides(shard, {global.data(), dims}, {local.data(), dims});
  find_hull(shard, {global.data(), dims});

  std::int64_t unit = width_bytes(shard.dtype);  // bytes that are one run in the tensor and in memory
  std::size_t outer = dims;                      // dims before this one are walked
  bool open = true;                              // the unit may still grow
  while (open && outer > 0) {
    const IntervalList& owned = layout.piece(shard.mesh_index, outer - 1).owned;
    const std::int64_t extent = layout.shape()[outer - 1];
    if (extent > 1 && local[outer - 1] != unit) break;
    open = owned.size() == extent && owned.intervals().size() == 1;
    if (open) unit *= extent;
    --outer;
  }
  if (open) {
    runs_.push_back({0, unit});
  } else {
    for (const Interval& interval : layout.piece(shard.mesh_index, outer).owned.intervals()) {
      runs_.push_back({interval.begin * unit, interval.end * unit});
    }
  }
  for (std::size_t dim = 0; dim < outer; ++dim) {
    loops_.push_back({layout.piece(shard.mesh_index, dim).owned.intervals(), global[dim], local[dim]});
  }
  std::int64_t row_bytes = 0;
  for (const Interval& run : runs_) row_bytes += run.size();
  if (row_bytes < fingerprint_prefetch_bytes && !loops_.empty()) {
    prefetch_bytes_ = fingerprint_prefetch_bytes / row_bytes * loops_.back().local_stride;
  }
}

void ShardRuns::find_strides(const ShardView& shard, std::span<std::int64_t> global,
                             std::span<std::int64_t> local) const {
  const Layout& layout = *shard.layout;
  const std::int64_t width = width_bytes(shard.dtype);
  std::int64_t global_stride = width;
  std::int64_t dense_stride = width;
  for (std::size_t dim = layout.dims(); dim-- > 0;) {
    global[dim] = global_stride;
    local[dim] = shard.strides.empty() ? dense_stride : shard.strides[dim] * width;
    global_stride *= layout.shape()[dim];
    dense_stride *= layout.piece(shard.mesh_index, dim).local_extent;
  }
}

void ShardRuns::find_hull(const ShardView& shard, std::span<const std::int64_t> global) {
  hull_ = {0, width_bytes(shard.dtype)};
  for (std::size_t dim = 0; dim < global.size(); ++dim) {
    const auto intervals = shard.layout->piece(shard.mesh_index, dim).owned.intervals();
    std::int64_t first = intervals.front().begin;
    std::int64_t last = intervals.front().end - 1;
    for (const Interval& interval : intervals) {
      first = std::min(first, interval.begin);
      last = std::max(last, interval.end - 1);
    }
    hull_.begin += first * global[dim];
    hull_.end += last * global[dim];
  }
}

void ShardRuns::visit(const Walk& walk, std::size_t depth, std::int64_t global, std::int64_t local) const {
  if (depth == loops_.size()) return visit_row(walk, global, local);
  const Loop& loop = loops_[depth];
  // The range covers the indices strictly between the first and the last whole.
  const std::int64_t first = floor_divide(walk.range.begin - global, loop.global_stride);
  const std::int64_t last = ceil_divide(walk.range.end - global, loop.global_stride) - 1;
  for (const Interval& interval : loop.intervals) {
    const Interval touched = {std::max(interval.begin, first), std::min(interval.end, last + 1)};
    for (std::int64_t i = touched.begin; i < touched.end; ++i) {
      const std::int64_t global_at = global + i * loop.global_stride;
      const std::int64_t local_at = local + (i - interval.begin) * loop.local_stride;
      const std::int64_t whole_rows = std::min(touched.end, last) - i;
      if (depth + 1 == loops_.size() && runs_.size() == 1 && i > first && whole_rows > 1) {
        add_rows(walk, global_at, local_at, whole_rows);
        i += whole_rows - 1;
      } else {
        visit(walk, depth + 1, global_at, local_at);
      }
    }
    local += interval.size() * loop.local_stride;
  }
}

void ShardRuns::visit_row(const Walk& walk, std::int64_t global, std::int64_t local) const {
  for (const Interval& run : runs_) {
    const std::int64_t begin = std::max(run.begin, walk.range.begin - global);
    const std::int64_t end = std::min(run.end, walk.range.end - global);
    if (begin < end) {
      walk.stream.add({static_cast<std::uint64_t>(global + begin), 0, data_ + local + (begin - run.begin), 0,
                       static_cast<std::size_t>(end - begin), 1, prefetch_bytes_});
    }
    local += run.size();
  }
}

void ShardRuns::add_rows(const Walk& walk, std::int64_t global, std::int64_t local, std::int64_t count) const {
  const Interval& run = runs_.front();
  walk.stream.add({static_cast<std::uint64_t>(global + run.begin),
                   static_cast<std::uint64_t>(loops_.back().global_stride), data_ + local, loops_.back().local_stride,
                   static_cast<std::size_t>(run.size()), count, prefetch_bytes_});
}

FingerprintState fingerprint_of_runs(const FingerprintKey& key, const ShardRuns& runs, Interval range) {
  FingerprintStream stream(key);
  runs.add_to(stream, range);
  return stream.finish();
}

}  // namespace

FingerprintState fingerprint_of_shard(const FingerprintKey& key, const ShardView& shard,
                                      const FingerprintOptions& options) {
  const ShardRuns runs(shard);
  if (runs.empty()) return {};
  Interval range = runs.hull();
  if (options.elements) {
    const std::int64_t width = width_bytes(shard.dtype);
    range.begin = std::max(range.begin, options.elements->begin * width);
    range.end = std::min(range.end, options.elements->end * width);
    if (range.size() <= 0) return {};
  }
  const std::int64_t owned_bytes = shard.layout->owned_elements(shard.mesh_index) * width_bytes(shard.dtype);
  const std::int64_t threads =
      std::clamp<std::int64_t>(std::min(owned_bytes, range.size()) / thread_bytes, 1, std::max(options.threads, 1));
  if (threads == 1) return fingerprint_of_runs(key, runs, range);

  std::vector<FingerprintState> states(static_cast<std::size_t>(threads));
  std::vector<std::thread> pool;
  const std::int64_t share = ceil_divide(range.size(), threads);
  for (std::int64_t i = 0; i < threads; ++i) {
    const Interval part = {range.begin + i * share, std::min(range.begin + (i + 1) * share, range.end)};
    pool.emplace_back([&key, &runs, part, &state = states[static_cast<std::size_t>(i)]] {
      state = fingerprint_of_runs(key, runs, part);
    });
  }
  for (std::thread& thread : pool) thread.join();
  FingerprintState total;
  for (const FingerprintState& state : states) merge(total, state);
  return total;
}

std::size_t replica_place(const Layout& layout, std::size_t mesh_index) {
  const std::span<const Rank> group = layout.replicas(layout.shard_of(mesh_index));
  const Rank rank = layout.mesh().ranks()[mesh_index];
  return static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
}

FingerprintState fingerprint_of_header(const FingerprintKey& key, std::string_view dtype,
                                       std::span<const std::int64_t> shape) {
  RESHARDCHECK_CHECK(dtype.size() <= fingerprint_max_dtype_bytes && shape.size() <= fingerprint_max_dims);
  std::array<std::byte, 16 + 8 + 8 * fingerprint_max_dims> header = {};
  const std::uint64_t dims = shape.size();
  std::memcpy(header.data(), dtype.data(), dtype.size());
  std::memcpy(header.data() + 16, &dims, 8);
  if (!shape.empty()) std::memcpy(header.data() + 24, shape.data(), shape.size_bytes());
  FingerprintStream stream(key);
  stream.add(std::uint64_t{1} << 63, header.data(), header.size());
  return stream.finish();
}

std::string fingerprint_digest(const FingerprintKey& key, const FingerprintState& state, std::string_view dtype,
                               std::span<const std::int64_t> shape) {
  FingerprintState whole = fingerprint_of_header(key, dtype, shape);
  merge(whole, state);
  return fmt::format("{:016x}{:016x}", whole.lane[0], whole.lane[1]);
}

}  // namespace reshardcheck
