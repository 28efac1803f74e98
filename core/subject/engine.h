// Engine: executes plans for the tensors of one call on one rank.
//
// All tensors go through the plan's steps together. In a step a rank
//   1. posts its receives, tensor by tensor, in plan order;
//   2. packs and posts its sends, in the same order;
//   3. does its local moves;
//   4. waits for everything it posted, and unpacks.
// So the messages of a pair of ranks are ordered by (step, tensor, plan order) at both ends. A box that is
// contiguous travels straight from or into the tensor, all others through message buffers, which stay for the next
// call, as do the stages of gather-broadcast.
//
// Mutants are this engine with an EngineDeviation: it may rearrange the messages of a step, change what is
// written, and it trades the check that every place exists for skipping the places that do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "core/subject/box_move.h"
#include "core/subject/subject.h"
#include "core/world/world.h"

namespace reshardcheck {

/// Bytes around a local tensor that belong to nobody: every executor leaves at least these on both sides.
inline constexpr std::int64_t guard_band_bytes = 64;

/// One tensor of a call, with what to do about it. The plan must outlive the call.
struct EngineTensor {
  const BatchTensor* tensor = nullptr;
  const Plan* plan = nullptr;
  const PlanIndex* index = nullptr;
};

enum class MessageEnd : std::uint8_t { send, receive };

/// A message of a step, as one end sees it; a local move is one that has no peer. Offsets point into the message
/// buffer of that end.
struct Message {
  std::size_t tensor = 0;      // in the call
  std::uint32_t transfer = 0;  // in its plan
  Rank peer = 0;
  std::int64_t bytes = 0;          // that travel; at first all of them
  std::int64_t buffer_offset = 0;  // where it is packed, or received
  std::int64_t unpack_offset = 0;  // where a received message is unpacked from
  std::int64_t lost_bytes = 0;     // at the end of what is packed: sent as garbage
  int empty_messages = 0;          // posted behind it
  bool in_place = false;           // straight from or into the tensor
};

/// What a rearrangement may look at.
struct StepContext {
  Rank rank = 0;
  MessageEnd end = MessageEnd::send;
  std::int64_t chunk_bytes = 0;
  std::span<const EngineTensor> tensors;
};

/// How a mutant's engine differs.
struct EngineDeviation {
  std::function<void(std::vector<Message>&, const StepContext&)> arrange;
  std::function<void(const BatchTensor&, std::byte* written, std::int64_t elements)> written;  // in a target
  std::int64_t reach_bytes = 0;  // how far beyond a local tensor it reads and writes, at most guard_band_bytes
  bool copies_first = false;     // local moves before sends are packed
  bool tolerate_size_mismatch = false;
};

struct EngineOptions {
  std::int64_t chunk_bytes = 0;                // messages travel in pieces of at most this; 0: whole
  const EngineDeviation* deviation = nullptr;  // null: the reference
};

class Engine {
 public:
  /// Moves the data. An error when a place that a plan names does not exist (found before anything of that step is
  /// posted), or when communication failed.
  Outcome run(Endpoint& endpoint, std::span<const EngineTensor> tensors, const EngineOptions& options);

 private:
  struct Stage {
    std::vector<std::byte> bytes;
    std::vector<std::int64_t> strides;
  };
  struct Posted {
    Request request = 0;
    Rank peer = 0;
    MessageEnd end = MessageEnd::send;
  };

  Outcome run_step(int step);
  void collect(MessageEnd end, int step);
  void lay_out(MessageEnd end);
  void collect_moves(int step);
  [[nodiscard]] bool step_fits();
  void post_receives();
  void post_sends();
  void post(const Message& message, MessageEnd end, std::byte* memory);
  void move_locally();
  Outcome wait_for_all();
  void unpack_receives();

  [[nodiscard]] const Transfer& transfer_of(const Message& message) const;
  [[nodiscard]] std::size_t width_bytes(std::size_t tensor) const;
  [[nodiscard]] BoxView local_view(const LocalTensor& tensor, std::int64_t Run::*offset) const;
  [[nodiscard]] BoxView sender_view(const Message& message);
  [[nodiscard]] BoxView receiver_view(const Message& message);
  [[nodiscard]] BoxView stage_view(std::size_t tensor, std::byte* memory, std::int64_t Run::*offset);
  [[nodiscard]] std::byte* in_place_memory(const Message& message, const BoxView& view) const;
  [[nodiscard]] std::byte* stage_memory(std::size_t tensor);
  [[nodiscard]] BoxMover mover(const Message& message) const;

  // Of the call that runs.
  Endpoint* endpoint_ = nullptr;
  std::span<const EngineTensor> tensors_;
  EngineOptions options_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<Message> moves_;  // local ones
  std::vector<Posted> posted_;

  // Kept for the next call.
  std::vector<std::byte> send_buffer_;
  std::vector<std::byte> receive_buffer_;
  std::vector<Stage> stages_;  // by tensor of the call
};

}  // namespace reshardcheck
