// Blocking sends and receives only: all ranks take the tensors in the same order, and in each tensor the root first
// receives everything and then sends everything, so nobody waits in a circle.
#include "verifier/gather_broadcast_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "verifier/element_bits.h"

namespace reshardcheck {
namespace {

/// Memory for a message; not initialised.
struct Buffer {
  explicit Buffer(std::int64_t size)
      : bytes(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size))), size_bytes(size) {}
  [[nodiscard]] std::span<std::byte> span() { return {bytes.get(), static_cast<std::size_t>(size_bytes)}; }
  std::unique_ptr<std::byte[]> bytes;
  std::int64_t size_bytes;
};

/// A local tensor's place in memory, worked out from the naive lists: every rank can say it of every other.
struct NaiveFootprint {
  std::vector<std::int64_t> strides;
  std::int64_t elements = 1;

  NaiveFootprint(const NaiveLayout& map, std::size_t mesh_index, std::int64_t gap) {
    const std::size_t dims = map.shape().size();
    strides.resize(dims);
    std::int64_t stride = 1;
    for (std::size_t dim = dims; dim-- > 0;) {
      strides[dim] = stride;
      const auto extent = static_cast<std::int64_t>(map.indices(mesh_index, dim).size());
      elements = extent == 0 ? 0 : elements + (elements == 0 ? 0 : (extent - 1) * stride);
      stride *= std::max<std::int64_t>(extent, 1);
      if (dims > 1 && dim + 1 == dims) stride += gap;
    }
  }
};

template <typename T>
void scatter_row(T* whole, const T* row, std::span<const std::int64_t> inner) {
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != NaiveLayout::padding) whole[inner[i]] = row[i];
  }
}

/// Puts a local tensor's elements where they belong in the whole tensor.
void scatter(const NaiveLayout& map, std::size_t mesh_index, const NaiveFootprint& place, const std::byte* local,
             int width, std::byte* whole) {
  for_each_naive_row(
      map, mesh_index, place.strides, [&](std::int64_t offset, std::int64_t base, std::span<const std::int64_t> inner) {
        with_width(width, [&](auto zero) {
          using T = decltype(zero);
          scatter_row(reinterpret_cast<T*>(whole) + base, reinterpret_cast<const T*>(local) + offset, inner);
        });
      });
}

/// Calls wrong(position) for the places of a row that differ from what the whole tensor has there.
template <typename T, typename Wrong>
void compare_row(const T* whole, const T* row, std::span<const std::int64_t> inner, Wrong&& wrong) {
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != NaiveLayout::padding && whole[inner[i]] != row[i]) wrong(i);
  }
}

/// One tensor, seen from one rank.
class TensorRun {
 public:
  TensorRun(Endpoint& endpoint, const Case& value, const NaiveMaps& maps, std::size_t tensor)
      : endpoint_(endpoint),
        tensor_(value.tensors[tensor]),
        source_(maps.source(tensor)),
        target_(maps.target(tensor)),
        gap_(value.options.gap_elements),
        width_(width_bytes(tensor_.dtype)),
        whole_bytes_(elements(tensor_.shape()) * width_) {}

  [[nodiscard]] bool in_turn() const { return whole_bytes_ > in_turn_bytes; }
  [[nodiscard]] Rank root() const { return tensor_.source.mesh().ranks()[0]; }

  /// The sending half of the gather, on ranks other than the root.
  CommStatus give(const LocalTensor& local) {
    if (!local.present() || !source_.is_first_replica(local.mesh_index)) return CommStatus::ok;
    const NaiveFootprint place(source_, local.mesh_index, gap_);
    if (place.elements == 0) return CommStatus::ok;
    return endpoint_.send(root(), {local.data, static_cast<std::size_t>(place.elements * width_)});
  }

  /// The root's gather: the whole tensor from one replica of every shard.
  CommStatus gather(const LocalTensor& own, Buffer& whole) {
    for (std::size_t m = 0; m < source_.mesh_size(); ++m) {
      if (!source_.is_first_replica(m)) continue;
      const NaiveFootprint place(source_, m, gap_);
      if (place.elements == 0) continue;
      if (m == own.mesh_index) {
        scatter(source_, m, place, own.data, width_, whole.bytes.get());
        continue;
      }
      Buffer message(place.elements * width_);
      const CommStatus status = endpoint_.receive(tensor_.source.mesh().ranks()[m], message.span());
      if (status != CommStatus::ok) return status;
      scatter(source_, m, place, message.bytes.get(), width_, whole.bytes.get());
    }
    return CommStatus::ok;
  }

  /// The root's broadcast to the other targets that hold anything.
  CommStatus hand_out(Buffer& whole) {
    for (std::size_t m = 0; m < target_.mesh_size(); ++m) {
      const Rank to = tensor_.target.mesh().ranks()[m];
      if (to == root() || !wants(m)) continue;
      const std::byte go{1};
      CommStatus status = in_turn() ? endpoint_.send(to, {&go, 1}) : CommStatus::ok;
      if (status == CommStatus::ok) status = endpoint_.send(to, whole.span());
      if (status != CommStatus::ok) return status;
    }
    return CommStatus::ok;
  }

  /// A target's half of the broadcast; compares on arrival.
  CommStatus take(const LocalTensor& local, std::size_t tensor, Call call, RankReport& report) {
    if (!local.present() || !wants(local.mesh_index)) return CommStatus::ok;
    std::byte go{};
    CommStatus status = in_turn() ? endpoint_.receive(root(), {&go, 1}) : CommStatus::ok;
    if (status != CommStatus::ok) return status;
    Buffer whole(whole_bytes_);
    status = endpoint_.receive(root(), whole.span());
    if (status == CommStatus::ok) compare(local, whole, tensor, call, report);
    return status;
  }

  void compare(const LocalTensor& local, const Buffer& whole, std::size_t tensor, Call call, RankReport& report) const {
    for_each_naive_row(target_, local.mesh_index, local.strides,
                       [&](std::int64_t offset, std::int64_t base, std::span<const std::int64_t> inner) {
                         with_width(width_, [&](auto zero) {
                           using T = decltype(zero);
                           const T* all = reinterpret_cast<const T*>(whole.bytes.get()) + base;
                           const T* row = reinterpret_cast<const T*>(local.data) + offset;
                           compare_row(all, row, inner, [&](std::size_t i) {
                             const std::int64_t at = offset + static_cast<std::int64_t>(i);
                             WrongPlace place{
                                 tensor, at, local_index_of(local, at), base + inner[i], call, all[inner[i]], {}, 0};
                             place.got[static_cast<std::size_t>(call.pass)] = row[i];
                             note_wrong(report.gather_broadcast, std::move(place));
                           });
                         });
                       });
  }

  [[nodiscard]] bool wants(std::size_t mesh_index) const {
    for (std::size_t dim = 0; dim < target_.shape().size(); ++dim) {
      if (target_.indices(mesh_index, dim).empty()) return false;
    }
    return true;
  }
  [[nodiscard]] std::int64_t whole_bytes() const { return whole_bytes_; }

 private:
  Endpoint& endpoint_;
  const TensorCase& tensor_;
  const NaiveLayout& source_;
  const NaiveLayout& target_;
  std::int64_t gap_;
  int width_;
  std::int64_t whole_bytes_;
};

CommStatus check_tensor(TensorRun& run, const BatchTensor& local, std::size_t tensor, Call call, RankReport& report) {
  if (report.rank != run.root()) {
    const CommStatus status = run.give(local.source);
    return status == CommStatus::ok ? run.take(local.target, tensor, call, report) : status;
  }
  Buffer whole(run.whole_bytes());
  CommStatus status = run.gather(local.source, whole);
  if (status == CommStatus::ok) status = run.hand_out(whole);
  if (status == CommStatus::ok && local.target.present()) run.compare(local.target, whole, tensor, call, report);
  return status;
}

}  // namespace

void check_by_gather_broadcast(Endpoint& endpoint, const Case& value, const NaiveMaps& maps, Call call,
                               const LocalBuffers& buffers, RankReport& report) {
  for (std::size_t tensor = 0; tensor < value.tensors.size(); ++tensor) {
    if (!maps.has(tensor)) continue;
    TensorRun run(endpoint, value, maps, tensor);
    CommStatus status = check_tensor(run, buffers.tensors()[tensor], tensor, call, report);
    // Large tensors one after the other on all ranks, so that only one root holds a stage.
    if (status == CommStatus::ok && run.in_turn()) status = endpoint.barrier();
    if (status == CommStatus::ok) continue;
    report.gather_broadcast_failure =
        fmt::format("the gather-broadcast oracle failed on rank {}, tensor {}: {}", report.rank, tensor, name(status));
    return;
  }
}

std::int64_t gather_broadcast_bytes(const Case& value) {
  std::int64_t large = 0;
  std::int64_t small = 0;
  for (const TensorCase& tensor : value.tensors) {
    const std::int64_t bytes = elements(tensor.shape()) * width_bytes(tensor.dtype);
    std::int64_t& most = bytes > in_turn_bytes ? large : small;
    most = std::max(most, bytes);
  }
  // Large: the stage, one target's copy and one source's message (padding and gaps come with the local tensors'
  // own estimate). Small: a stage or a copy on every rank at once.
  std::int64_t total = 0;
  if (__builtin_mul_overflow(large, std::int64_t{3}, &total) ||
      __builtin_add_overflow(total, 2 * small * value.world_ranks(), &total)) {
    return INT64_MAX;
  }
  return total;
}

}  // namespace reshardcheck
