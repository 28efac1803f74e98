// Misreadings: planning from per-rank pieces that need not come from any layout. Every pair of a target rank and a
// group of source ranks with the same pieces is looked at, which is slow and does not mind overlaps or holes.
#include "core/subject/misread.h"

#include <algorithm>
#include <array>

namespace reshardcheck {
namespace {

/// Ranks that seem to hold the same shard.
struct SeenGroup {
  std::span<const DimPiece> shard;
  std::vector<Rank> ranks;
  std::size_t dealt = 0;  // requests that its ranks were asked to serve
};

bool is_empty(std::span<const DimPiece> shard) {
  return std::any_of(shard.begin(), shard.end(), [](const DimPiece& piece) { return piece.owned.empty(); });
}

std::vector<SeenGroup> groups_of(const SeenSide& side) {
  std::vector<SeenGroup> groups;
  for (std::size_t index = 0; index < side.size(); ++index) {
    const std::span<const DimPiece> shard = side.shard(index);
    if (is_empty(shard) || side.ranks[index] == SeenSide::no_rank) continue;
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const SeenGroup& group) { return std::ranges::equal(group.shard, shard); });
    if (found != groups.end()) {
      found->ranks.push_back(side.ranks[index]);
    } else {
      groups.push_back({shard, {side.ranks[index]}});
    }
  }
  return groups;
}

/// A side that holds everything in global order, as a stage does.
std::vector<DimPiece> whole(const Shape& shape) {
  std::vector<DimPiece> pieces;
  for (const std::int64_t extent : shape) pieces.push_back({IntervalList({0, extent}), extent});
  return pieces;
}

/// Adds the box that two shards share; nothing when they share none.
std::optional<std::uint32_t> add_box(Plan& plan, std::span<const DimPiece> from, std::span<const DimPiece> to) {
  Box box;
  box.elements = 1;
  for (std::size_t dim = 0; dim < plan.dims; ++dim) {
    std::vector<Overlap> shared;
    box.elements *= intersect(from[dim].owned, to[dim].owned, shared);
    box.dims[dim] = {static_cast<std::uint32_t>(plan.runs.size()), static_cast<std::uint32_t>(shared.size())};
    for (const Overlap& run : shared) plan.runs.push_back({run.begin, run.length, run.first_offset, run.second_offset});
  }
  if (box.elements == 0) return std::nullopt;
  plan.boxes.push_back(box);
  return static_cast<std::uint32_t>(plan.boxes.size() - 1);
}

void add_transfer(Plan& plan, Rank from, Rank to, TransferKind kind, std::uint32_t box) {
  Transfer transfer;
  transfer.from = from;
  transfer.to = to;
  transfer.kind = kind;
  transfer.send_step = transfer.receive_step = kind == TransferKind::broadcast ? 1 : 0;
  transfer.box = box;
  plan.transfers.push_back(transfer);
}

Plan plan_direct(const SeenSide& source, const SeenSide& target) {
  Plan plan;
  plan.dims = source.dims();
  std::vector<SeenGroup> groups = groups_of(source);
  for (std::size_t index = 0; index < target.size(); ++index) {
    const Rank to = target.ranks[index];
    if (to == SeenSide::no_rank) continue;
    for (SeenGroup& group : groups) {
      const std::optional<std::uint32_t> box = add_box(plan, group.shard, target.shard(index));
      if (!box) continue;
      if (std::find(group.ranks.begin(), group.ranks.end(), to) != group.ranks.end()) {
        add_transfer(plan, to, to, TransferKind::copy, *box);
      } else {
        add_transfer(plan, group.ranks[group.dealt++ % group.ranks.size()], to, TransferKind::direct, *box);
      }
    }
  }
  return plan;
}

Plan plan_gather_broadcast(const SeenSide& source, const SeenSide& target) {
  Plan plan;
  plan.dims = source.dims();
  plan.stage_rank = source.ranks.front();
  const std::vector<DimPiece> stage = whole(source.shape());
  for (const SeenGroup& group : groups_of(source)) {
    const std::optional<std::uint32_t> box = add_box(plan, group.shard, stage);
    if (box) add_transfer(plan, group.ranks.front(), plan.stage_rank, TransferKind::gather, *box);
  }
  for (std::size_t index = 0; index < target.size(); ++index) {
    if (target.ranks[index] == SeenSide::no_rank) continue;
    const std::optional<std::uint32_t> box = add_box(plan, stage, target.shard(index));
    if (box) add_transfer(plan, plan.stage_rank, target.ranks[index], TransferKind::broadcast, *box);
  }
  return plan;
}

bool sees_the_truth(const SeenSide& side) {
  const SeenSide truth(side.layout, side.is_source);
  if (side.ranks != truth.ranks) return false;
  for (std::size_t index = 0; index < side.size(); ++index) {
    for (std::size_t dim = 0; dim < side.dims(); ++dim) {
      if (!(side.piece(index, dim).owned == truth.piece(index, dim).owned)) return false;
    }
  }
  return true;
}

}  // namespace

void SeenSide::take_pieces_of(const Layout& other) {
  pieces_.clear();
  pieces_.reserve(size() * dims());
  for (std::size_t index = 0; index < size(); ++index) {
    for (std::size_t dim = 0; dim < dims(); ++dim) pieces_.push_back(other.piece(index, dim));
  }
}

std::vector<std::size_t> SeenSide::axes_of(std::size_t dim) const {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < layout.placements().size(); ++axis) {
    if (layout.placements()[axis].dim == static_cast<int>(dim)) axes.push_back(axis);
  }
  return axes;
}

Plan plan_from(PlannerKind planner, const SeenSide& source, const SeenSide& target) {
  return planner == PlannerKind::gather_broadcast ? plan_gather_broadcast(source, target) : plan_direct(source, target);
}

Deviation misread_both(std::function<void(SeenSide&, SeenSide&)> misreading) {
  Deviation deviation;
  deviation.promises_minimal_traffic = false;  // plan_from() does not look at domains
  deviation.plan = [misreading = std::move(misreading)](const PlanContext& context) -> std::optional<Plan> {
    SeenSide source(context.tensor.source, true);
    SeenSide target(context.tensor.target, false);
    misreading(source, target);
    if (sees_the_truth(source) && sees_the_truth(target)) return std::nullopt;
    return plan_from(context.planner, source, target);
  };
  return deviation;
}

Deviation misread(std::function<void(SeenSide&)> misreading) {
  return misread_both([misreading = std::move(misreading)](SeenSide& source, SeenSide& target) {
    misreading(source);
    misreading(target);
  });
}

}  // namespace reshardcheck
