// Plan: which rank sends what to whom, for one tensor geometry.
//
// A transfer carries a box: the product, over the dims, of runs of elements that the sender holds and the receiver
// wants. Boxes are shared by all transfers between the same pair of shards, so a plan's size is the number of
// transfers plus the number of distinct boxes, never the number of elements. Element order inside a message is
// row-major over the product of runs, the same at both ends.
//
// Transfers run in steps. In a step a rank posts its receives, posts its sends (both in plan order), and waits for
// all of them; then it goes on. Plan order is also the order of messages between a pair of ranks, which is all the
// matching there is: worlds have no tags. A relay (step 1) sends on what step 0 brought. Gather_broadcast gathers
// into a stage on the root (step 0), then sends the whole stage to every target, which keeps its part (step 1).
//
// A transfer whose `from` is its `to` is a local move, whatever its kind: it costs no message and appears in
// PlanIndex::copies() alone. It has one step (send_step == receive_step) and is over when that step ends: a root
// gathers its own shard into its stage in step 0 and takes its own part out of it in step 1.
//
// A plan is a value: planners make it, the prover judges it, engines execute it, mutants bend it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/limits.h"

namespace reshardcheck {

/// A run of consecutive elements of one dim: where it starts globally and in the two buffers. For a gather the
/// receiver's buffer is the stage, for a broadcast the sender's is; stage offsets are global indices.
struct Run {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// A slice of Plan::runs.
struct RunRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const RunRange&, const RunRange&) = default;
};

/// A product of runs, one range per dim of the tensor (a 0-d tensor has none and its box holds one element).
struct Box {
  std::array<RunRange, limits::max_dims> dims{};
  std::int64_t elements = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

enum class TransferKind : std::uint8_t {
  copy,       // within a rank: source shard -> target shard, no message
  direct,     // source shard -> target shard
  relay,      // target shard -> target shard of a replica (box offsets: to_offset at both ends)
  gather,     // source shard -> stage of the root
  broadcast,  // the whole stage of the root -> kept part in the target shard (box: what is kept)
};

struct Transfer {
  Rank from = 0;
  Rank to = 0;
  TransferKind kind = TransferKind::direct;
  std::uint8_t send_step = 0;     // the step in which the sender posts it
  std::uint8_t receive_step = 0;  // the step in which the receiver posts it; planners keep the two equal
  bool sent = true;               // false: the sender forgets it (a planner never does; a mutant may)
  bool received = true;           // false: the receiver does not expect it
  std::uint32_t box = 0;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

inline constexpr int max_steps = 8;

struct Plan {
  std::size_t dims = 0;
  std::vector<Run> runs;
  std::vector<Box> boxes;
  std::vector<Transfer> transfers;  // in issue order
  Rank stage_rank = -1;             // the gather_broadcast root, or -1

  [[nodiscard]] std::span<const Run> runs_of(const Box& box, std::size_t dim) const {
    return std::span<const Run>(runs).subspan(box.dims[dim].first, box.dims[dim].count);
  }
  [[nodiscard]] const Box& box_of(const Transfer& transfer) const { return boxes[transfer.box]; }

  /// Elements that the message of a transfer carries: the box, or the whole tensor for a broadcast; 0 for a
  /// local move.
  [[nodiscard]] std::int64_t message_elements(const Transfer& transfer, std::int64_t tensor_elements) const;

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// One line for people: "step 0: rank 0 -> rank 4: [0,2)x[0,3), 6 elements". Safe for a transfer that makes no sense.
std::string to_text(const Plan& plan, const Transfer& transfer);

/// Which transfers of a plan a rank takes part in, without a search. Built once per plan, shared by the ranks.
/// Ends that do not happen (sent or received is false) and ranks outside the world are left out.
class PlanIndex {
 public:
  PlanIndex(const Plan& plan, std::int64_t world_ranks);
  /// Indices into Plan::transfers, in plan order. Local moves appear in neither list but in copies().
  [[nodiscard]] std::span<const std::uint32_t> sends(Rank rank) const;
  [[nodiscard]] std::span<const std::uint32_t> receives(Rank rank) const;
  [[nodiscard]] std::span<const std::uint32_t> copies(Rank rank) const;
  [[nodiscard]] int steps() const { return steps_; }

 private:
  struct List {
    std::vector<std::uint32_t> first;  // by rank, one more than ranks
    std::vector<std::uint32_t> transfers;
    [[nodiscard]] std::span<const std::uint32_t> of(Rank rank) const;
  };
  List sends_;
  List receives_;
  List copies_;
  int steps_ = 1;
};

}  // namespace reshardcheck
