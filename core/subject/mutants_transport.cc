// Mutants of the transport: how messages are cut, staged, counted and signalled.
#include <algorithm>

#include "core/subject/mutant.h"

namespace reshardcheck {
namespace {

std::int64_t element_bytes(const Message& message, const StepContext& step) {
  return width_bytes(step.tensors[message.tensor].tensor->spec->dtype);
}

/// The staging chunk: the case's, or the mutant's own where the case has none.
std::int64_t chunk_of(const Message& message, const StepContext& step, std::int64_t own_chunk_bytes) {
  return std::max(step.chunk_bytes != 0 ? step.chunk_bytes : own_chunk_bytes, element_bytes(message, step));
}

Deviation arranging(std::function<void(std::vector<Message>&, const StepContext&)> arrange) {
  Deviation deviation;
  deviation.engine.arrange = std::move(arrange);
  return deviation;
}

Deviation chunk_tail(const MutantOptions& options) {
  return arranging([own = options["chunk"]](std::vector<Message>& messages, const StepContext& step) {
    for (Message& message : messages) message.bytes -= message.bytes % chunk_of(message, step, own);
  });
}

Deviation chunk_exact(const MutantOptions& options) {
  return arranging([own = options["chunk"]](std::vector<Message>& messages, const StepContext& step) {
    for (Message& message : messages) {
      if (message.bytes % chunk_of(message, step, own) == 0) message.lost_bytes = element_bytes(message, step);
    }
  });
}

Deviation count_32(const MutantOptions& options) {
  return arranging(
      [mask = (std::int64_t{1} << options["width"]) - 1](std::vector<Message>& messages, const StepContext&) {
        for (Message& message : messages) message.bytes &= mask;
      });
}

Deviation tiny_signal(const MutantOptions& options) {
  return arranging([workers = options["workers"]](std::vector<Message>& messages, const StepContext& step) {
    if (step.end != MessageEnd::receive) return;
    for (Message& message : messages) {
      if (message.bytes < workers) message.empty_messages = 1;
    }
  });
}

void signal_bank_zero(std::vector<Message>& messages, const StepContext& step) {
  if (step.end != MessageEnd::receive) return;
  for (auto message = messages.begin(); message != messages.end(); ++message) {
    const auto first = std::find_if(messages.begin(), messages.end(),
                                    [&](const Message& other) { return other.tensor == message->tensor; });
    message->unpack_offset = first->buffer_offset;
  }
}

Deviation slot_reuse(const MutantOptions& options) {
  const auto slots = static_cast<std::size_t>(options["slots"]);
  return arranging([slots](std::vector<Message>& messages, const StepContext& step) {
    if (step.end != MessageEnd::send) return;
    std::vector<Message*> staged;
    std::int64_t end = 0;
    for (Message& message : messages) {
      if (message.in_place) continue;
      staged.push_back(&message);
      end = std::max(end, message.buffer_offset + message.bytes);
    }
    for (std::size_t i = slots; i < staged.size(); ++i) {
      staged[i]->buffer_offset = std::min(staged[i - slots]->buffer_offset, end - staged[i]->bytes);
    }
  });
}

}  // namespace

std::vector<Mutant> transport_mutants() {
  return {
      {"chunk-tail",
       "the last partial chunk is not sent",
       "unwritten, mismatch",
       "staging class",
       chunk_tail,
       {{"chunk", 64}}},
      {"chunk-exact",
       "one element lost when the size is an exact multiple of the chunk",
       "mismatch",
       "staging class",
       chunk_exact,
       {{"chunk", 2}}},
      {"count-32",
       "byte count truncated at a width in bits",
       "unwritten, mismatch, hang",
       "nccl-extensions#15, ompi#9606",
       count_32,
       {{"width", 1, 1, 40}}},
      {"tiny-signal",
       "fewer bytes than workers: the idle worker never signals",
       "hang, error, disagree",
       "M2N tests",
       tiny_signal,
       {{"workers", 4}}},
      {"signal-bank", "every source shard signals bank 0", "mismatch, hang", "M2N tests",
       [](const MutantOptions&) { return arranging(signal_bank_zero); }},
      {"slot-reuse",
       "a staging slot is reused before its reader is done",
       "stale, mismatch",
       "M2N d3ca9dd, vllm-ascend#12713",
       slot_reuse,
       {{"slots", 1}}},
  };
}

}  // namespace reshardcheck
