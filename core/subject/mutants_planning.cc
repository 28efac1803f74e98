// Mutants that choose senders, receivers and links wrongly among replicas and domains.
#include <algorithm>
#include <map>

#include "core/subject/mutant.h"
#include "core/subject/plan_edit.h"

namespace reshardcheck {
namespace {

/// Source shards are told apart by their local shape alone: the first rank with a shape serves all that have it.
void merge_equal_shapes(Plan& plan, const PlanContext& context) {
  const Layout& source = context.tensor.source;
  std::map<Shape, Rank> first_of_shape;
  std::map<Rank, Rank> served_by;
  for (std::size_t index = 0; index < source.mesh().size(); ++index) {
    const Rank rank = source.mesh().ranks()[index];
    served_by[rank] = first_of_shape.emplace(source.local_shape(index), rank).first->second;
  }
  for (Transfer& transfer : plan.transfers) {
    if (transfer.kind != TransferKind::direct && transfer.kind != TransferKind::gather) continue;
    transfer.from = served_by.at(transfer.from);
    if (transfer.kind == TransferKind::direct && transfer.from == transfer.to) transfer.kind = TransferKind::copy;
  }
}

void starve_last_replica(Plan& plan, const PlanContext& context) {
  const Layout& target = context.tensor.target;
  if (target.replica_count() <= context.tensor.source.replica_count()) return;
  std::erase_if(plan.transfers, [&](const Transfer& transfer) {
    const auto index = target.mesh().index_of(transfer.to);
    return transfer.kind == TransferKind::direct && is_message(transfer) && index &&
           target.replicas(target.shard_of(*index)).back() == transfer.to;
  });
}

/// Every domain is given as many slots as the first one has replicas; one with fewer fills up with its last.
void repeat_last_slot(Plan& plan, const PlanContext& context) {
  const Layout& target = context.tensor.target;
  std::map<Rank, std::size_t> repeats;
  for (std::size_t shard = 0; shard < target.shards(); ++shard) {
    std::vector<std::pair<std::int64_t, std::vector<Rank>>> domains;
    for (const Rank rank : target.replicas(shard)) {
      const std::int64_t domain = context.topology.domain_of(rank);
      const auto found = std::find_if(domains.begin(), domains.end(), [&](const auto& d) { return d.first == domain; });
      if (found == domains.end()) {
        domains.push_back({domain, {rank}});
      } else {
        found->second.push_back(rank);
      }
    }
    const std::size_t slots = domains.front().second.size();
    for (const auto& [domain, ranks] : domains) {
      if (ranks.size() < slots) repeats[ranks.back()] = slots - ranks.size();
    }
  }
  std::vector<Transfer> transfers;
  for (const Transfer& transfer : plan.transfers) {
    transfers.push_back(transfer);
    const auto repeat = repeats.find(transfer.to);
    if (!is_message(transfer) || transfer.kind == TransferKind::gather || repeat == repeats.end()) continue;
    Transfer unexpected = transfer;
    unexpected.received = false;
    transfers.insert(transfers.end(), repeat->second, unexpected);
  }
  plan.transfers = std::move(transfers);
}

/// Requests for a shard are dealt over all its source replicas, but there are slots only for those in the domain of
/// the first.
void drop_beyond_local_slots(Plan& plan, const PlanContext& context) {
  const Layout& source = context.tensor.source;
  std::vector<std::size_t> dealt(source.shards(), 0);
  std::erase_if(plan.transfers, [&](const Transfer& transfer) {
    const auto index = source.mesh().index_of(transfer.from);
    if (transfer.kind != TransferKind::direct || !index) return false;
    const std::size_t shard = source.shard_of(*index);
    const std::span<const Rank> replicas = source.replicas(shard);
    const auto local = static_cast<std::size_t>(std::count_if(replicas.begin(), replicas.end(), [&](Rank rank) {
      return context.topology.same_domain(rank, replicas.front());
    }));
    return dealt[shard]++ % replicas.size() >= local;
  });
}

Deviation bending(void (*bend)(Plan&, const PlanContext&), PlannerKind planner = PlannerKind::direct) {
  Deviation deviation;
  deviation.planner = planner;
  deviation.promises_minimal_traffic = planner == PlannerKind::replica_aware;
  deviation.bend = bend;
  return deviation;
}

Deviation domain_anchor(const MutantOptions&) {
  Deviation deviation;
  deviation.plan = [](const PlanContext& context) -> std::optional<Plan> {
    return make_plan(context.planner, context.tensor.source, context.tensor.target, {context.topology.domain_ranks, 0});
  };
  return deviation;
}

Deviation replica_flood(const MutantOptions&) {
  Deviation deviation;
  deviation.planner = PlannerKind::direct;
  deviation.promises_minimal_traffic = true;
  return deviation;
}

Deviation wrong_root(const MutantOptions&) {
  Deviation deviation;
  deviation.bend = [](Plan& plan, const PlanContext&) {
    for (Transfer& transfer : plan.transfers) {
      if (transfer.kind == TransferKind::broadcast) transfer.from = 0;
    }
  };
  return deviation;
}

}  // namespace

std::vector<Mutant> planning_mutants() {
  return {
      {"replica-merge", "two distinct shards of equal size merged as replicas", "mismatch", "modelexpress#635",
       [](const MutantOptions&) { return bending(merge_equal_shapes); }},
      {"replica-starved", "with more target replicas than sources, the last gets nothing", "unwritten",
       "load-balance edge", [](const MutantOptions&) { return bending(starve_last_replica); }},
      {"domain-anchor", "domains counted from rank 0, not from the side's first rank", "excess_traffic", "M2N 58033de",
       domain_anchor},
      {"slot-collapse", "a later domain with fewer replicas repeats its last slot", "hang, unwritten", "M2N comments",
       [](const MutantOptions&) { return bending(repeat_last_slot, PlannerKind::replica_aware); }},
      {"rep-slots", "source slots sized by local replicas only", "unwritten",
       "planner edge that a 200-case matrix never reaches",
       [](const MutantOptions&) { return bending(drop_beyond_local_slots); }},
      {"replica-flood", "every target replica is served across domains", "excess_traffic",
       "the naive plan of the M2N article", replica_flood},
      {"wrong-root", "gather_broadcast broadcasts from rank 0 whoever holds the data", "mismatch, stale", "class",
       wrong_root},
  };
}

}  // namespace reshardcheck
