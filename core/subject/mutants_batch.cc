// Mutants that are right for one tensor and one call: tensors of a batch, or calls of a session, get in each other's
// way.
#include <algorithm>

#include "core/subject/local_memory.h"
#include "core/subject/mutant.h"
#include "core/subject/plan_edit.h"

namespace reshardcheck {
namespace {

/// A deviation in which the targets that `stale` picks keep what an earlier call delivered.
Deviation keeping_old(std::function<bool(const CallContext&, std::size_t tensor)> stale) {
  Deviation deviation;
  deviation.after = [stale = std::move(stale)](const CallContext& call) {
    std::vector<std::vector<std::byte>>& kept = call.rank.kept;
    kept.resize(std::max(kept.size(), call.first_tensor + call.tensors.size()));
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      const BatchTensor& tensor = call.tensors[i];
      std::vector<std::byte>& old = kept[call.first_tensor + i];
      if (!stale(call, i)) continue;
      if (old.empty()) {
        old = take_elements(tensor.target, tensor.spec->target, tensor.spec->dtype);
      } else {
        put_elements(tensor.target, tensor.spec->target, tensor.spec->dtype, old);
      }
    }
  };
  return deviation;
}

Deviation fifth_call(const MutantOptions& options) {
  Deviation deviation;
  deviation.after = [history = options["history"]](const CallContext& call) {
    if (call.rank.call < history) return;
    for (const BatchTensor& tensor : call.tensors) flip_first_element(tensor.target, tensor.spec->target);
  };
  return deviation;
}

/// The bucket that a tensor begins in is not the one it ends in, when the batch is laid out byte after byte.
bool straddles(const CallContext& call, std::size_t tensor, std::int64_t bucket_bytes) {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i <= tensor; ++i) {
    begin += bytes;
    bytes = elements(call.tensors[i].spec->shape()) * width_bytes(call.tensors[i].spec->dtype);
  }
  return bytes > 0 && begin / bucket_bytes != (begin + bytes - 1) / bucket_bytes;
}

bool is_broadcast_beside_reshard(const CallContext& call, std::size_t tensor) {
  const auto has = [&](Path path) {
    return std::any_of(call.tensors.begin(), call.tensors.end(),
                       [&](const BatchTensor& each) { return each.spec->path == path; });
  };
  return call.tensors[tensor].spec->path == Path::gather_broadcast && has(Path::reshard);
}

/// All source ranks read where the first source rank would.
void read_as_first_rank(Plan& plan, const PlanContext& context) {
  const Layout& source = context.tensor.source;
  edit_runs(
      plan,
      [](const Transfer& transfer) {
        return transfer.kind == TransferKind::copy || transfer.kind == TransferKind::direct ||
               transfer.kind == TransferKind::gather;
      },
      [&](std::size_t dim, Run& run) {
        const IntervalList& first = source.piece(0, dim).owned;
        const std::int64_t begin = first.empty() ? 0 : first.at(0);
        run.from_offset = first.find(run.begin).value_or(run.begin - begin);
      });
}

Deviation tensor_swap(const MutantOptions&) {
  Deviation deviation;
  deviation.see = [](std::vector<BatchTensor>& tensors, RankMemory&) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (std::size_t j = i + 1; j < tensors.size(); ++j) {
        if (tensors[i].spec->dtype != tensors[j].spec->dtype) continue;
        if (!(tensors[i].spec->source == tensors[j].spec->source)) continue;
        std::swap(tensors[i].source, tensors[j].source);
        return;
      }
    }
  };
  return deviation;
}

Deviation arranging(void (*arrange)(std::vector<Message>&, const StepContext&)) {
  Deviation deviation;
  deviation.engine.arrange = arrange;
  deviation.engine.tolerate_size_mismatch = true;
  return deviation;
}

void reverse_tensors_on_one_rank(std::vector<Message>& messages, const StepContext& step) {
  const Rank odd_one = step.tensors.front().tensor->spec->source.mesh().ranks().front();
  if (step.end != MessageEnd::send || step.rank != odd_one) return;
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Message& a, const Message& b) { return a.tensor > b.tensor; });
}

/// Two messages of different tensors from the same rank.
void swap_first_two_of_a_pair(std::vector<Message>& messages, const StepContext& step) {
  if (step.end != MessageEnd::receive) return;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (std::size_t j = i + 1; j < messages.size(); ++j) {
      if (messages[i].peer != messages[j].peer || messages[i].tensor == messages[j].tensor) continue;
      std::swap(messages[i], messages[j]);
      return;
    }
  }
}

/// The receiver leaves the last tensor of the batch to the next one.
void receive_all_but_last_tensor(std::vector<Message>& messages, const StepContext& step) {
  if (step.end != MessageEnd::receive || step.tensors.size() < 2) return;
  std::erase_if(messages, [&](const Message& message) { return message.tensor + 1 == step.tensors.size(); });
}

Deviation lost_send(const MutantOptions&) {
  Deviation deviation;
  deviation.bend = [](Plan& plan, const PlanContext&) {
    const auto last = std::find_if(plan.transfers.rbegin(), plan.transfers.rend(), is_message);
    if (last != plan.transfers.rend()) last->sent = false;
  };
  return deviation;
}

Deviation cache_without(CacheKey key, std::int64_t reach_bytes) {
  Deviation deviation;
  deviation.cache_key = key;
  deviation.promises_minimal_traffic = false;
  deviation.engine.reach_bytes = reach_bytes;
  return deviation;
}

Deviation last_tensor(const MutantOptions&) {
  Deviation deviation;
  deviation.see = [](std::vector<BatchTensor>& tensors, RankMemory&) {
    if (tensors.size() > 1) tensors.pop_back();
  };
  return deviation;
}

}  // namespace

std::vector<Mutant> batch_mutants() {
  return {
      {"second-call", "counters start at 0 again on the second call", "stale, mismatch, hang", "M2N comment",
       [](const MutantOptions&) { return keeping_old([](const CallContext&, std::size_t) { return true; }); }},
      {"fifth-call",
       "wrong only after a history of four calls",
       "mismatch",
       "Megatron-Bridge#5462",
       fifth_call,
       {{"history", 4}}},
      {"cache-shape", "plan cache key lacks the shape", "guard, mismatch, unwritten", "cache class",
       [](const MutantOptions&) {
         return cache_without({false, true}, guard_band_bytes);
       }},
      {"cache-placement", "plan cache key lacks the placements", "mismatch, unwritten", "cache class",
       [](const MutantOptions&) {
         return cache_without({true, false}, 0);
       }},
      {"cache-rank", "cache shared by ranks of one process", "mismatch, unwritten", "rocm-systems#9616",
       [](const MutantOptions&) {
         Deviation deviation;
         deviation.bend = read_as_first_rank;
         return deviation;
       }},
      {"tensor-swap", "two tensors of one shape exchanged within a batch", "mismatch", "M2N blind spot", tensor_swap},
      {"group-order", "one rank issues the batch in another order", "hang, mismatch", "nccl#1279",
       [](const MutantOptions&) { return arranging(reverse_tensors_on_one_rank); }},
      {"pair-order", "two messages of one pair delivered in the other order", "mismatch", "nccl#389",
       [](const MutantOptions&) { return arranging(swap_first_two_of_a_pair); }},
      {"lost-send", "one send is missing", "hang, disagree, error", "class", lost_send},
      {"batch-split", "sender and receiver cut the batch at different places", "hang, disagree, error",
       "Megatron-LM#7189, vllm#31943", [](const MutantOptions&) { return arranging(receive_all_but_last_tensor); }},
      {"last-tensor", "the last tensor of a mix is skipped", "unwritten", "sglang#38298", last_tensor},
      {"bucket-edge",
       "tensors that straddle a bucket boundary keep old data",
       "stale, mismatch",
       "sglang#38298",
       [](const MutantOptions& options) {
         return keeping_old([bytes = options["bytes"]](const CallContext& call, std::size_t tensor) {
           return straddles(call, tensor, bytes);
         });
       },
       {{"bytes", 2}}},
      {"partial-mix", "reshard path right, gather_broadcast path stale", "stale", "NeMo RL#3659",
       [](const MutantOptions&) { return keeping_old(is_broadcast_beside_reshard); }},
  };
}

}  // namespace reshardcheck
