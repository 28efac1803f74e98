#include "fuzz/edits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace reshardcheck {
namespace {

bool has_sizes(const Placement& placement) {
  return placement.is_shard() && (placement.rule == SplitRule::cuts || placement.rule == SplitRule::segments);
}

/// Takes from the largest size, the last of equals, or adds to the first, until they sum to `total`. Large amounts
/// go in shares, so that the loop is bounded by the number of sizes times the logarithm of the amount.
void fit_sizes(std::vector<std::int64_t>& sizes, std::int64_t total) {
  if (sizes.empty()) return;
  std::int64_t excess = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) - total;
  if (excess < 0) sizes.front() -= excess;
  while (excess > 0) {
    const auto largest = std::max_element(sizes.rbegin(), sizes.rend());
    const std::int64_t taken = std::min(*largest, std::max<std::int64_t>(1, excess / std::ssize(sizes)));
    *largest -= taken;
    excess -= taken;
  }
}

std::vector<Rank> count_up(std::int64_t first, std::int64_t count) {
  std::vector<Rank> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), static_cast<Rank>(first));
  return ranks;
}

void exchange_first_two(std::vector<Rank>& ranks) {
  if (ranks.size() > 1) std::swap(ranks[0], ranks[1]);
}

/// Keeps the ranks whose coordinate along `axis` is below `extent`.
void keep_coordinates(SideDraft& side, std::size_t axis, std::int64_t extent) {
  const std::int64_t old_extent = side.extents[axis];
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < side.extents.size(); ++i) inner *= side.extents[i];
  std::vector<Rank> kept;
  for (std::size_t index = 0; index < side.ranks.size(); ++index) {
    if (static_cast<std::int64_t>(index) / inner % old_extent < extent) kept.push_back(side.ranks[index]);
  }
  side.ranks = std::move(kept);
}

template <typename Visit>
void for_each_placement(TensorDraft& tensor, Visit visit) {
  for (SideDraft* side : {&tensor.source, &tensor.target}) {
    for (Placement& placement : side->placements) visit(placement);
  }
}

}  // namespace

void arrange(TensorDraft& tensor, Arrangement arrangement) {
  const std::int64_t sources = tensor.source.size();
  const std::int64_t targets = tensor.target.size();
  std::int64_t source_first = 0;
  std::int64_t target_first = sources;
  switch (arrangement) {
    case Arrangement::home:
    case Arrangement::source_exchanged:
    case Arrangement::target_exchanged:
      break;
    case Arrangement::target_first:
      source_first = targets;
      target_first = 0;
      break;
    case Arrangement::together:
      target_first = 0;
      break;
    case Arrangement::after_idle_rank:
      source_first = 1;
      target_first = sources + 1;
      break;
    case Arrangement::apart:
      target_first = sources + 1;
      break;
    case Arrangement::source_second:
      source_first = 1;
      target_first = 0;
      break;
  }
  tensor.source.ranks = count_up(source_first, sources);
  tensor.target.ranks = count_up(target_first, targets);
  if (arrangement == Arrangement::source_exchanged) exchange_first_two(tensor.source.ranks);
  if (arrangement == Arrangement::target_exchanged) exchange_first_two(tensor.target.ranks);
}

void arrange(CaseDraft& draft, Arrangement arrangement) {
  for (TensorDraft& tensor : draft.tensors) arrange(tensor, arrangement);
}

std::optional<Arrangement> arrangement_of(const CaseDraft& draft) {
  for (const Arrangement each : all_arrangements) {
    CaseDraft arranged = draft;
    arrange(arranged, each);
    if (arranged == draft) return each;
  }
  return std::nullopt;
}

void close_rank_gaps(CaseDraft& draft) {
  std::map<Rank, Rank> numbers;
  const auto for_each_rank = [&draft](auto visit) {
    for (TensorDraft& tensor : draft.tensors) {
      for (SideDraft* side : {&tensor.source, &tensor.target}) {
        for (Rank& rank : side->ranks) visit(rank);
      }
    }
  };
  for_each_rank([&](Rank& rank) { numbers[rank] = 0; });
  Rank next = 0;
  for (auto& entry : numbers) entry.second = next++;
  for_each_rank([&](Rank& rank) { rank = numbers[rank]; });
}

void set_extent(TensorDraft& tensor, std::size_t dim, std::int64_t extent) {
  tensor.shape[dim] = extent;
  for_each_placement(tensor, [&](Placement& placement) {
    if (placement.dim == static_cast<int>(dim) && has_sizes(placement)) fit_sizes(placement.sizes, extent);
  });
}

void drop_dim(TensorDraft& tensor, std::size_t dim) {
  tensor.shape.erase(tensor.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  for_each_placement(tensor, [dim](Placement& placement) {
    if (placement.dim == static_cast<int>(dim)) placement = Placement::replicate();
    if (placement.dim > static_cast<int>(dim)) --placement.dim;
  });
}

void shrink_axis(SideDraft& side, std::size_t axis, std::int64_t extent) {
  keep_coordinates(side, axis, extent);
  side.extents[axis] = extent;
  Placement& placement = side.placements[axis];
  if (placement.is_shard() && placement.rule == SplitRule::cuts) {
    const std::int64_t total = std::accumulate(placement.sizes.begin(), placement.sizes.end(), std::int64_t{0});
    placement.sizes.resize(static_cast<std::size_t>(extent));
    fit_sizes(placement.sizes, total);
  }
}

void drop_axis(SideDraft& side, std::size_t axis) {
  keep_coordinates(side, axis, 1);
  if (side.extents.size() == 1) {
    side.extents[0] = 1;
    side.placements[0] = Placement::replicate();
    return;
  }
  const auto at = static_cast<std::ptrdiff_t>(axis);
  side.extents.erase(side.extents.begin() + at);
  side.placements.erase(side.placements.begin() + at);
}

void make_trivial(SideDraft& side) { side = {{1}, {side.ranks.front()}, {Placement::replicate()}}; }

void exchange_axes(SideDraft& side, std::size_t axis) {
  std::swap(side.extents[axis], side.extents[axis + 1]);
  std::swap(side.placements[axis], side.placements[axis + 1]);
}

void exchange_sides(CaseDraft& draft) {
  std::optional<Arrangement> arrangement = arrangement_of(draft);
  for (TensorDraft& tensor : draft.tensors) std::swap(tensor.source, tensor.target);
  if (arrangement == Arrangement::source_exchanged) {
    arrangement = Arrangement::target_exchanged;
  } else if (arrangement == Arrangement::target_exchanged) {
    arrangement = Arrangement::source_exchanged;
  }
  if (arrangement) arrange(draft, *arrangement);
}

void move_dim(TensorDraft& tensor, std::size_t from, std::size_t to) {
  std::vector<int> place(tensor.shape.size());  // of each old dim
  std::vector<std::size_t> order;
  for (std::size_t dim = 0; dim < place.size(); ++dim) {
    if (dim != from) order.push_back(dim);
  }
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), from);
  Shape shape;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<int>(i);
    shape.push_back(tensor.shape[order[i]]);
  }
  tensor.shape = std::move(shape);
  for_each_placement(tensor, [&place](Placement& placement) {
    if (placement.is_shard()) placement.dim = place[static_cast<std::size_t>(placement.dim)];
  });
}

void merge_dims(TensorDraft& tensor, std::size_t dim) {
  tensor.shape[dim] *= tensor.shape[dim + 1];
  drop_dim(tensor, dim + 1);
}

void make_bytes(TensorDraft& tensor) {
  tensor.shape.push_back(width_bytes(tensor.dtype));
  tensor.dtype = DType::u8;
}

bool must_divide(const TensorDraft& tensor, std::size_t dim) {
  for (const SideDraft* side : {&tensor.source, &tensor.target}) {
    for (const Placement& placement : side->placements) {
      if (placement.dim == static_cast<int>(dim) && placement.rule == SplitRule::even) return true;
    }
  }
  return false;
}

std::int64_t parts_of(const TensorDraft& tensor, std::size_t dim) {
  std::int64_t most = 1;
  for (const SideDraft* side : {&tensor.source, &tensor.target}) {
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < side->placements.size(); ++axis) {
      if (side->placements[axis].dim == static_cast<int>(dim)) parts *= side->extents[axis];
    }
    most = std::max(most, parts);
  }
  return most;
}

}  // namespace reshardcheck
