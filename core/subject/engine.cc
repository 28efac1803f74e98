// Engine: a step is collected as lists of messages first, so that everything can be checked and every buffer has its
// place before anything is posted; requests hold pointers into the buffers, which must not grow under them.
#include "core/subject/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/subject/local_memory.h"

namespace reshardcheck {
namespace {

/// What a mutant's message holds where nothing was packed or received.
constexpr std::byte lost_byte{0xDB};

void grow(std::vector<std::byte>& buffer, std::int64_t bytes) {
  if (std::ssize(buffer) < bytes) buffer.resize(static_cast<std::size_t>(bytes), lost_byte);
}

bool is_whole_stage(const Transfer& transfer) { return transfer.kind == TransferKind::broadcast; }

}  // namespace

Outcome Engine::run(Endpoint& endpoint, std::span<const EngineTensor> tensors, const EngineOptions& options) {
  endpoint_ = &endpoint;
  tensors_ = tensors;
  options_ = options;
  if (stages_.size() < tensors.size()) stages_.resize(tensors.size());
  for (Stage& stage : stages_) stage.strides.clear();  // the tensors may be others than last time

  int steps = 0;
  for (const EngineTensor& each : tensors) steps = std::max(steps, each.index->steps());
  for (int step = 0; step < steps; ++step) {
    Outcome outcome = run_step(step);
    if (!outcome.is_done()) return outcome;
  }
  return Outcome::done();
}

Outcome Engine::run_step(int step) {
  collect(MessageEnd::receive, step);
  collect(MessageEnd::send, step);
  collect_moves(step);
  if (receives_.empty() && sends_.empty() && moves_.empty()) return Outcome::done();
  if (options_.deviation == nullptr && !step_fits()) {
    return Outcome::error("the plan names a place outside a local tensor");
  }
  posted_.clear();
  post_receives();
  const bool copies_first = options_.deviation != nullptr && options_.deviation->copies_first;
  if (copies_first) move_locally();
  post_sends();
  if (!copies_first) move_locally();
  Outcome outcome = wait_for_all();
  if (outcome.is_done()) unpack_receives();
  return outcome;
}

// --- 1. what a step holds ------------------------------------------------------------------------------------------

/// Lists the messages of one end of a step and gives each its place in the message buffer.
void Engine::collect(MessageEnd end, int step) {
  std::vector<Message>& messages = end == MessageEnd::send ? sends_ : receives_;
  messages.clear();
  const Rank rank = endpoint_->rank();
  for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    const EngineTensor& each = tensors_[tensor];
    for (const std::uint32_t number : end == MessageEnd::send ? each.index->sends(rank) : each.index->receives(rank)) {
      const Transfer& transfer = each.plan->transfers[number];
      if ((end == MessageEnd::send ? transfer.send_step : transfer.receive_step) != step) continue;
      Message message;
      message.tensor = tensor;
      message.transfer = number;
      message.peer = end == MessageEnd::send ? transfer.to : transfer.from;
      const std::int64_t elements = is_whole_stage(transfer) ? reshardcheck::elements(each.tensor->spec->shape())
                                                             : each.plan->box_of(transfer).elements;
      message.bytes = elements * static_cast<std::int64_t>(width_bytes(tensor));
      messages.push_back(message);
    }
  }
  if (!messages.empty()) lay_out(end);
}

void Engine::lay_out(MessageEnd end) {
  std::vector<Message>& messages = end == MessageEnd::send ? sends_ : receives_;
  std::int64_t total_bytes = 0;
  for (Message& message : messages) {
    if (end == MessageEnd::send && is_whole_stage(transfer_of(message))) {
      message.in_place = true;
    } else if (options_.deviation == nullptr && !is_whole_stage(transfer_of(message))) {
      const BoxView view = end == MessageEnd::send ? sender_view(message) : receiver_view(message);
      const EngineTensor& each = tensors_[message.tensor];
      const Box& box = each.plan->box_of(transfer_of(message));
      message.in_place = fits(*each.plan, box, view) && contiguous_offset(*each.plan, box, view) >= 0;
    }
    if (message.in_place) continue;
    message.buffer_offset = message.unpack_offset = total_bytes;
    total_bytes += message.bytes;
  }
  std::vector<std::byte>& buffer = end == MessageEnd::send ? send_buffer_ : receive_buffer_;
  grow(buffer, total_bytes);
  if (options_.deviation == nullptr) return;
  // What a mutant skips must not depend on what ran before.
  std::fill_n(buffer.begin(), total_bytes, lost_byte);
  if (options_.deviation->arrange) {
    options_.deviation->arrange(messages, {endpoint_->rank(), end, options_.chunk_bytes, tensors_});
  }
}

void Engine::collect_moves(int step) {
  moves_.clear();
  for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    for (const std::uint32_t number : tensors_[tensor].index->copies(endpoint_->rank())) {
      const Transfer& transfer = tensors_[tensor].plan->transfers[number];
      // A relay to itself would read and write the same place.
      if (transfer.send_step != step || transfer.kind == TransferKind::relay) continue;
      Message move;
      move.tensor = tensor;
      move.transfer = number;
      move.peer = endpoint_->rank();
      moves_.push_back(move);
    }
  }
}

bool Engine::step_fits() {
  const auto box_fits = [&](const Message& message, const BoxView& view) {
    const Plan& plan = *tensors_[message.tensor].plan;
    return fits(plan, plan.box_of(transfer_of(message)), view);
  };
  for (const Message& message : sends_) {
    if (!message.in_place && !box_fits(message, sender_view(message))) return false;
  }
  for (const Message& message : receives_) {
    if (!message.in_place && !box_fits(message, receiver_view(message))) return false;
  }
  for (const Message& message : moves_) {
    if (!box_fits(message, sender_view(message)) || !box_fits(message, receiver_view(message))) return false;
  }
  return true;
}

// --- 2. moving -----------------------------------------------------------------------------------------------------

void Engine::post_receives() {
  for (const Message& message : receives_) {
    std::byte* const memory = message.in_place ? in_place_memory(message, receiver_view(message))
                                               : receive_buffer_.data() + message.buffer_offset;
    post(message, MessageEnd::receive, memory);
  }
}

void Engine::post_sends() {
  for (const Message& message : sends_) {
    std::byte* memory = send_buffer_.data() + message.buffer_offset;
    if (is_whole_stage(transfer_of(message))) {
      memory = stage_memory(message.tensor);
    } else if (message.in_place) {
      memory = in_place_memory(message, sender_view(message));
    } else {
      mover(message).pack(sender_view(message), memory);
      std::fill_n(memory + message.bytes - message.lost_bytes, message.lost_bytes, lost_byte);
    }
    post(message, MessageEnd::send, memory);
  }
}

/// Posts a message in pieces; an empty one is one empty piece.
void Engine::post(const Message& message, MessageEnd end, std::byte* memory) {
  const auto post_piece = [&](std::byte* data, std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    const Request request = end == MessageEnd::send
                                ? endpoint_->post_send(message.peer, std::span<const std::byte>(data, size))
                                : endpoint_->post_receive(message.peer, std::span<std::byte>(data, size));
    posted_.push_back({request, message.peer, end});
  };
  const std::int64_t whole = std::max<std::int64_t>(message.bytes, 1);
  const std::int64_t piece_bytes =
      options_.chunk_bytes == 0
          ? whole
          : std::max(options_.chunk_bytes, static_cast<std::int64_t>(width_bytes(message.tensor)));
  for (std::int64_t begin = 0; begin < whole; begin += piece_bytes) {
    post_piece(memory + begin, std::min(piece_bytes, message.bytes - begin));
  }
  for (int i = 0; i < message.empty_messages; ++i) post_piece(memory, 0);
}

void Engine::move_locally() {
  for (const Message& move : moves_) mover(move).copy(sender_view(move), receiver_view(move));
}

/// Waits for everything, also after a failure, so that no request outlives the step.
Outcome Engine::wait_for_all() {
  Outcome outcome = Outcome::done();
  for (const Posted& posted : posted_) {
    const CommStatus status = endpoint_->wait(posted.request);
    if (status == CommStatus::ok || !outcome.is_done()) continue;
    if (status == CommStatus::size_mismatch && options_.deviation != nullptr &&
        options_.deviation->tolerate_size_mismatch) {
      continue;
    }
    outcome = Outcome::error(fmt::format("{} rank {}: {}", posted.end == MessageEnd::send ? "send to" : "receive from",
                                         posted.peer, name(status)),
                             status);
    if (status == CommStatus::killed) return outcome;
  }
  return outcome;
}

void Engine::unpack_receives() {
  for (const Message& message : receives_) {
    if (message.in_place) continue;
    std::byte* memory = receive_buffer_.data() + message.unpack_offset;
    if (is_whole_stage(transfer_of(message))) {
      mover(message).copy(stage_view(message.tensor, memory, &Run::from_offset), receiver_view(message));
    } else {
      mover(message).unpack({memory, static_cast<std::size_t>(message.bytes)}, receiver_view(message));
    }
  }
}

// --- 3. where things are -------------------------------------------------------------------------------------------

const Transfer& Engine::transfer_of(const Message& message) const {
  return tensors_[message.tensor].plan->transfers[message.transfer];
}

std::size_t Engine::width_bytes(std::size_t tensor) const {
  return static_cast<std::size_t>(reshardcheck::width_bytes(tensors_[tensor].tensor->spec->dtype));
}

BoxView Engine::local_view(const LocalTensor& tensor, std::int64_t Run::*offset) const {
  const std::int64_t reach_bytes = options_.deviation != nullptr ? options_.deviation->reach_bytes : 0;
  return {tensor.data, tensor.shape, tensor.strides, offset, reach_bytes};
}

/// Where a sender finds the box. The sender of a broadcast has it in its stage.
BoxView Engine::sender_view(const Message& message) {
  const BatchTensor& tensor = *tensors_[message.tensor].tensor;
  switch (transfer_of(message).kind) {
    case TransferKind::relay:
      return local_view(tensor.target, &Run::to_offset);
    case TransferKind::broadcast:
      return stage_view(message.tensor, stage_memory(message.tensor), &Run::from_offset);
    case TransferKind::copy:
    case TransferKind::direct:
    case TransferKind::gather:
      break;
  }
  return local_view(tensor.source, &Run::from_offset);
}

/// Where a receiver wants the box.
BoxView Engine::receiver_view(const Message& message) {
  if (transfer_of(message).kind == TransferKind::gather) {
    return stage_view(message.tensor, stage_memory(message.tensor), &Run::to_offset);
  }
  return local_view(tensors_[message.tensor].tensor->target, &Run::to_offset);
}

/// Memory that holds the whole tensor densely: a stage, or the message of a broadcast.
BoxView Engine::stage_view(std::size_t tensor, std::byte* memory, std::int64_t Run::*offset) {
  const Shape& shape = tensors_[tensor].tensor->spec->shape();
  std::vector<std::int64_t>& strides = stages_[tensor].strides;
  if (strides.size() != shape.size()) strides = dense_strides(shape);
  return {memory, shape, strides, offset, 0};
}

/// Where the box of an in-place message lies, in one stretch.
std::byte* Engine::in_place_memory(const Message& message, const BoxView& view) const {
  const Plan& plan = *tensors_[message.tensor].plan;
  return view.data + contiguous_offset(plan, plan.box_of(transfer_of(message)), view) *
                         static_cast<std::int64_t>(width_bytes(message.tensor));
}

std::byte* Engine::stage_memory(std::size_t tensor) {
  const std::int64_t count = elements(tensors_[tensor].tensor->spec->shape());
  grow(stages_[tensor].bytes, count * static_cast<std::int64_t>(width_bytes(tensor)));
  return stages_[tensor].bytes.data();
}

BoxMover Engine::mover(const Message& message) const {
  const EngineTensor& each = tensors_[message.tensor];
  const Transfer& transfer = transfer_of(message);
  const EngineDeviation* deviation = options_.deviation;
  BoxMover result{*each.plan, each.plan->box_of(transfer), width_bytes(message.tensor), deviation != nullptr, {}};
  if (deviation != nullptr && deviation->written && transfer.kind != TransferKind::gather) {
    result.written = [deviation, tensor = each.tensor](std::byte* data, std::int64_t elements) {
      deviation->written(*tensor, data, elements);
    };
  }
  return result;
}

}  // namespace reshardcheck
