// Mutants of the protocol: what a call answers, and which ranks take part in it.
#include <algorithm>
#include <stdexcept>

#include "core/subject/local_memory.h"
#include "core/subject/mutant.h"

namespace reshardcheck {
namespace {

Deviation answering(std::function<std::optional<Outcome>(const CallContext&)> before) {
  Deviation deviation;
  deviation.before = std::move(before);
  return deviation;
}

std::optional<Outcome> fail_on_one_rank(const CallContext& call) {
  const Rank failing = call.tensors.front().spec->target.mesh().ranks().back();
  if (call.endpoint.world_ranks() < 2 || call.endpoint.rank() != failing) return std::nullopt;
  return Outcome::error("out of staging memory");
}

bool replicates_fully(const Layout& layout) {
  return std::all_of(layout.placements().begin(), layout.placements().end(),
                     [](const Placement& placement) { return placement.is_replicate(); });
}

std::optional<Outcome> refuse_full_replication(const CallContext& call) {
  for (const BatchTensor& tensor : call.tensors) {
    if (replicates_fully(tensor.spec->source) && replicates_fully(tensor.spec->target)) {
      return Outcome::unsupported("replicated on both sides");
    }
  }
  return std::nullopt;
}

std::optional<Outcome> abort_on_empty_shard(const CallContext& call) {
  for (const BatchTensor& tensor : call.tensors) {
    for (const LocalTensor* local : {&tensor.source, &tensor.target}) {
      if (local->present() && local_elements(*local) == 0) throw std::runtime_error("empty shard");
    }
  }
  return std::nullopt;
}

/// A rank with no part in the batch waits for work that nobody sends.
std::optional<Outcome> wait_when_idle(const CallContext& call) {
  const Rank rank = call.endpoint.rank();
  for (const BatchTensor& tensor : call.tensors) {
    if (tensor.source.present() || tensor.target.present()) return std::nullopt;
  }
  std::byte work{};
  const CommStatus status = call.endpoint.receive(rank == 0 ? call.endpoint.world_ranks() - 1 : 0, {&work, 1});
  return Outcome::error("no work for an idle rank", status);
}

Deviation one_in_twenty(const MutantOptions& options) {
  Deviation deviation;
  deviation.after = [period = static_cast<std::uint64_t>(options["period"])](const CallContext& call) {
    if (call.endpoint.rank() != call.tensors.front().spec->target.mesh().ranks().front()) return;
    if (++call.process.calls % period != 0) return;
    for (const BatchTensor& tensor : call.tensors) {
      if (flip_first_element(tensor.target, tensor.spec->target)) return;
    }
  };
  return deviation;
}

}  // namespace

std::vector<Mutant> protocol_mutants() {
  return {
      {"success-no-data", "returns success, moves nothing", "unwritten", "tokenspeed#1373, miles#2605",
       [](const MutantOptions&) { return answering([](const CallContext&) { return Outcome::done(); }); }},
      {"one-rank-error", "one rank returns an error, the others wait", "hang, disagree, error", "NeMo RL#3403",
       [](const MutantOptions&) { return answering(fail_on_one_rank); }},
      {"valid-rejected", "full replication on both sides is refused", "valid_rejected", "nccl-extensions#9",
       [](const MutantOptions&) { return answering(refuse_full_replication); }},
      {"empty-crash", "aborts on an empty shard", "crash", "PiPPy#470",
       [](const MutantOptions&) { return answering(abort_on_empty_shard); }},
      {"one-in-twenty",
       "corrupts one element in one run of twenty",
       "flaky",
       "nccl#2001",
       one_in_twenty,
       {{"period", 20}}},
      {"idle-rank", "a rank outside both meshes blocks or scribbles", "hang, guard", "Paddle#59705",
       [](const MutantOptions&) { return answering(wait_when_idle); }},
  };
}

}  // namespace reshardcheck
