// The three planners. Each walks the overlaps of source and target shards in order and decides, replica by replica,
// who sends; none looks at elements. All choices are deterministic, so equal layouts give equal plans.
#include "core/plan/planner.h"

#include <algorithm>

namespace reshardcheck {
namespace {

/// A rank of a replica group, its domain, and the shard it holds of the other side's layout.
struct Member {
  static constexpr std::uint32_t holds_nothing = static_cast<std::uint32_t>(-1);

  Rank rank = 0;
  std::int64_t domain = 0;
  std::uint32_t other_shard = holds_nothing;
};

/// The replica groups of a layout with the replicas of one domain side by side, else in mesh order.
class ReplicaGroups {
 public:
  ReplicaGroups(const Layout& layout, const Layout& other, const Topology& topology) : count_(layout.replica_count()) {
    members_.reserve(layout.mesh().size());
    for (std::size_t shard = 0; shard < layout.shards(); ++shard) {
      for (const Rank rank : layout.replicas(shard)) {
        const std::optional<std::size_t> index = other.mesh().index_of(rank);
        const std::size_t held = index ? other.shard_of(*index) : Member::holds_nothing;
        members_.push_back({rank, topology.domain_of(rank), static_cast<std::uint32_t>(held)});
      }
      const auto group = members_.end() - static_cast<std::ptrdiff_t>(count_);
      std::stable_sort(group, members_.end(), [](const Member& a, const Member& b) { return a.domain < b.domain; });
    }
  }

  [[nodiscard]] std::size_t size() const { return members_.size(); }

  /// Where the replicas of a shard start; positions number all members.
  [[nodiscard]] std::size_t position(std::size_t shard) const { return shard * count_; }

  [[nodiscard]] std::span<const Member> of(std::size_t shard) const {
    return std::span<const Member>(members_).subspan(position(shard), count_);
  }

  /// The replicas of a shard that live in a domain; often none.
  [[nodiscard]] std::span<const Member> within(std::size_t shard, std::int64_t domain) const {
    const std::span<const Member> group = of(shard);
    const auto begin =
        std::lower_bound(group.begin(), group.end(), domain,
                         [](const Member& member, std::int64_t wanted) { return member.domain < wanted; });
    const auto end = std::upper_bound(begin, group.end(), domain,
                                      [](std::int64_t wanted, const Member& member) { return wanted < member.domain; });
    return {begin, end};
  }

 private:
  std::size_t count_;
  std::vector<Member> members_;
};

/// Deals the requests for a source shard round over its replicas. Shards start at different replicas, so that
/// shards that are asked for once do not all come from the first.
class Dealer {
 public:
  explicit Dealer(std::size_t shards) : next_(shards) {
    for (std::size_t shard = 0; shard < shards; ++shard) next_[shard] = static_cast<std::uint32_t>(shard);
  }
  Rank deal(std::size_t shard, std::span<const Member> replicas) {
    return replicas[next_[shard]++ % replicas.size()].rank;
  }

 private:
  std::vector<std::uint32_t> next_;
};

/// What the planners that move overlaps have in common.
struct Draft {
  Draft(const Layout& source, const Layout& target, const Topology& topology)
      : sources(source, target, topology), targets(target, source, topology), dealer(source.shards()) {
    plan.dims = source.dims();
    overlap = overlaps(source, target, plan.runs);
    plan.boxes.reserve(overlap.size());
    plan.transfers.reserve(overlap.size() * target.replica_count());
    for (const ShardOverlap& each : overlap) plan.boxes.push_back(each.box);
  }

  void add(Rank from, const Member& to, std::size_t box, TransferKind kind = TransferKind::direct) {
    Transfer transfer;
    transfer.from = from;
    transfer.to = to.rank;
    transfer.kind = kind;
    transfer.send_step = transfer.receive_step = kind == TransferKind::relay ? 1 : 0;
    transfer.box = static_cast<std::uint32_t>(box);
    (kind == TransferKind::relay ? relays : plan.transfers).push_back(transfer);
  }

  /// One transfer to each member: a copy where it holds the source shard itself, else from one of `senders`.
  void serve(std::span<const Member> receivers, std::span<const Member> senders, std::size_t box) {
    const std::uint32_t source_shard = overlap[box].source_shard;
    for (const Member& member : receivers) {
      if (member.other_shard == source_shard) {
        add(member.rank, member, box, TransferKind::copy);
      } else {
        add(dealer.deal(source_shard, senders), member, box);
      }
    }
  }

  Plan finish() && {
    plan.transfers.insert(plan.transfers.end(), relays.begin(), relays.end());
    return std::move(plan);
  }

  ReplicaGroups sources;
  ReplicaGroups targets;
  Dealer dealer;
  std::vector<ShardOverlap> overlap;  // overlap[i] is box i
  std::vector<Transfer> relays;       // step 1, behind everything of step 0
  Plan plan;
};

Plan plan_direct(const Layout& source, const Layout& target) {
  Draft draft(source, target, Topology{});
  for (std::size_t box = 0; box < draft.overlap.size(); ++box) {
    draft.serve(draft.targets.of(draft.overlap[box].target_shard), draft.sources.of(draft.overlap[box].source_shard),
                box);
  }
  return std::move(draft).finish();
}

/// Lets a box enter a domain that has no source of it: one of the receivers, the one that took in least so far,
/// gets it from a source replica elsewhere and relays it to the others. `taken_elements` runs beside `receivers`.
void enter_and_relay(Draft& draft, std::span<const Member> receivers, std::span<std::int64_t> taken_elements,
                     std::size_t box) {
  const auto least = std::min_element(taken_elements.begin(), taken_elements.end());
  *least += draft.overlap[box].box.elements;
  const Member& entry = receivers[static_cast<std::size_t>(least - taken_elements.begin())];
  const std::uint32_t source_shard = draft.overlap[box].source_shard;
  draft.add(draft.dealer.deal(source_shard, draft.sources.of(source_shard)), entry, box);
  for (const Member& member : receivers) {
    if (&member != &entry) draft.add(entry.rank, member, box, TransferKind::relay);
  }
}

Plan plan_replica_aware(const Layout& source, const Layout& target, const Topology& topology) {
  Draft draft(source, target, topology);
  std::vector<std::int64_t> taken_elements(draft.targets.size(), 0);
  for (std::size_t box = 0; box < draft.overlap.size(); ++box) {
    const ShardOverlap& overlap = draft.overlap[box];
    const std::span<const Member> group = draft.targets.of(overlap.target_shard);
    const std::span<std::int64_t> taken =
        std::span(taken_elements).subspan(draft.targets.position(overlap.target_shard), group.size());
    for (std::size_t begin = 0, end = 0; begin < group.size(); begin = end) {
      while (end < group.size() && group[end].domain == group[begin].domain) ++end;
      const std::span<const Member> receivers = group.subspan(begin, end - begin);
      const std::span<const Member> inside = draft.sources.within(overlap.source_shard, group[begin].domain);
      if (!inside.empty()) {
        draft.serve(receivers, inside, box);
      } else {
        enter_and_relay(draft, receivers, taken.subspan(begin, end - begin), box);
      }
    }
  }
  return std::move(draft).finish();
}

constexpr std::uint32_t no_box = static_cast<std::uint32_t>(-1);

/// Adds, for every shard of a layout that is not empty, the box of all it holds; runs are shared per piece. The
/// stage has the shape of the tensor, so both offsets of a run start as its global index; `local` is the one
/// that points into the shard. Returns the box of each shard, no_box for an empty one.
std::vector<std::uint32_t> add_shard_boxes(const Layout& layout, std::int64_t Run::*local, Plan& plan) {
  std::array<std::vector<RunRange>, limits::max_dims> ranges;
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    for (const DimPiece& piece : layout.pieces(dim)) {
      RunRange range{static_cast<std::uint32_t>(plan.runs.size()), 0};
      std::int64_t offset = 0;
      for (const Interval& interval : piece.owned.intervals()) {
        Run run{interval.begin, interval.size(), interval.begin, interval.begin};
        run.*local = offset;
        offset += interval.size();
        plan.runs.push_back(run);
        ++range.count;
      }
      ranges[dim].push_back(range);
    }
  }
  std::vector<std::uint32_t> box_of_shard;
  for (std::size_t shard = 0; shard < layout.shards(); ++shard) {
    Box box;
    box.elements = 1;
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
      const std::int64_t size = layout.shard_piece(shard, dim).owned.size();
      box.dims[dim] = ranges[dim][layout.shard_piece_index(shard, dim)];
      box.elements = size == 0 ? 0 : box.elements * size;
    }
    box_of_shard.push_back(box.elements == 0 ? no_box : static_cast<std::uint32_t>(plan.boxes.size()));
    if (box.elements != 0) plan.boxes.push_back(box);
  }
  return box_of_shard;
}

Plan plan_gather_broadcast(const Layout& source, const Layout& target) {
  Plan plan;
  plan.dims = source.dims();
  plan.stage_rank = source.mesh().ranks().front();
  const std::vector<std::uint32_t> gathered = add_shard_boxes(source, &Run::from_offset, plan);
  const std::vector<std::uint32_t> kept = add_shard_boxes(target, &Run::to_offset, plan);
  for (std::size_t shard = 0; shard < source.shards(); ++shard) {
    if (gathered[shard] == no_box) continue;
    // The root leads its own replica group, because groups are in mesh order and it comes first of all.
    plan.transfers.push_back(
        {source.replicas(shard).front(), plan.stage_rank, TransferKind::gather, 0, 0, true, true, gathered[shard]});
  }
  for (std::size_t index = 0; index < target.mesh().size(); ++index) {
    const std::uint32_t box = kept[target.shard_of(index)];
    if (box == no_box) continue;
    plan.transfers.push_back(
        {plan.stage_rank, target.mesh().ranks()[index], TransferKind::broadcast, 1, 1, true, true, box});
  }
  return plan;
}

}  // namespace

std::string_view name(PlannerKind planner) {
  constexpr std::string_view names[] = {"direct", "replica_aware", "gather_broadcast"};
  return names[static_cast<std::size_t>(planner)];
}

std::optional<PlannerKind> parse_planner(std::string_view text) {
  for (const PlannerKind planner : all_planners) {
    if (name(planner) == text) return planner;
  }
  return std::nullopt;
}

Plan make_plan(PlannerKind planner, const Layout& source, const Layout& target, const Topology& topology) {
  RESHARDCHECK_CHECK(source.shape() == target.shape());
  switch (planner) {
    case PlannerKind::direct:
      return plan_direct(source, target);
    case PlannerKind::replica_aware:
      return plan_replica_aware(source, target, topology);
    case PlannerKind::gather_broadcast:
      return plan_gather_broadcast(source, target);
  }
  RESHARDCHECK_CHECK(false && "unknown planner");
}

PlannerKind planner_for(Path path, PlannerKind reshard_planner) {
  return path == Path::gather_broadcast ? PlannerKind::gather_broadcast : reshard_planner;
}

}  // namespace reshardcheck
