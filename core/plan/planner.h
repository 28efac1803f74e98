// Planners: three ways to move a tensor from its source layout to its target layout.
//
//   direct            each target gets each piece from one source replica, itself where it holds it (a copy),
//                     else dealt round over the replicas so that none is always first.
//   replica_aware     target replicas are grouped by domain. A piece enters a domain once, from a source replica
//                     inside the domain when there is one; entries are balanced over the domain's replicas and
//                     over the source replicas; the others are completed by relays inside the domain.
//   gather_broadcast  the baseline: a root on the source side gathers the tensor and sends it whole to every
//                     target, each of which keeps its part.
//
// Cost: proportional to the transfers produced. Per dim, the pieces of the two sides are intersected once by
// merging; boxes are the products of those intersections that are not empty.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/plan/plan.h"
#include "core/plan/topology.h"

namespace reshardcheck {

enum class PlannerKind : std::uint8_t { direct, replica_aware, gather_broadcast };
inline constexpr PlannerKind all_planners[] = {PlannerKind::direct, PlannerKind::replica_aware,
                                               PlannerKind::gather_broadcast};
[[nodiscard]] std::string_view name(PlannerKind planner);
[[nodiscard]] std::optional<PlannerKind> parse_planner(std::string_view text);

/// The plan of one tensor. Layouts must share their shape.
Plan make_plan(PlannerKind planner, const Layout& source, const Layout& target, const Topology& topology);

/// The planner a tensor of this path gets: gather_broadcast for that path, else `reshard_planner`.
[[nodiscard]] PlannerKind planner_for(Path path, PlannerKind reshard_planner);

/// The elements shared by one source shard and one target shard, as per-dim runs. The unit planners and bounds
/// work in. Calls `visit(source_shard, target_shard, box)` for every pair that shares an element, target shard
/// by target shard; `runs` receives the runs the boxes refer to.
struct ShardOverlap {
  std::uint32_t source_shard = 0;
  std::uint32_t target_shard = 0;
  Box box;
};
std::vector<ShardOverlap> overlaps(const Layout& source, const Layout& target, std::vector<Run>& runs);

}  // namespace reshardcheck
