// Each rule deals a list of indices out to its coordinates, entry by entry, in the words of the header.
#include "verifier/naive.h"

namespace reshardcheck {
namespace {

using List = std::vector<std::int64_t>;
using Lists = std::vector<List>;

std::int64_t rounded_up(std::int64_t n, std::int64_t k) { return (n + k - 1) / k; }

/// Appends each entry of a list to the coordinate that chunk gives it to.
void deal_chunks(const List& list, Lists& out) {
  const auto n = static_cast<std::int64_t>(list.size());
  const std::int64_t size = rounded_up(n, static_cast<std::int64_t>(out.size()));
  for (std::int64_t p = 0; p < n; ++p) {
    out[static_cast<std::size_t>(p / size)].push_back(list[static_cast<std::size_t>(p)]);
  }
}

void deal_sizes(const List& list, std::span<const std::int64_t> sizes, Lists& out) {
  std::size_t p = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    for (std::int64_t i = 0; i < sizes[c]; ++i) out[c].push_back(list[p++]);
  }
}

void deal_balanced(const List& list, Lists& out) {
  const auto n = static_cast<std::int64_t>(list.size());
  const auto k = static_cast<std::int64_t>(out.size());
  List sizes;
  for (std::int64_t c = 0; c < k; ++c) sizes.push_back(n / k + (c < n % k ? 1 : 0));
  deal_sizes(list, sizes, out);
}

void deal_padded(List list, std::int64_t multiple, Lists& out) {
  while (list.size() % static_cast<std::size_t>(multiple) != 0) list.push_back(NaiveLayout::padding);
  while (list.size() % out.size() != 0) list.push_back(NaiveLayout::padding);
  deal_chunks(list, out);
}

void deal_segments(const List& list, std::span<const std::int64_t> sizes, Lists& out) {
  std::vector<std::size_t> segment_of;  // by global index
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    for (std::int64_t i = 0; i < sizes[s]; ++i) segment_of.push_back(s);
  }
  Lists segments(sizes.size() + 1);  // the last is for padding
  for (const std::int64_t index : list) {
    const std::size_t s = index == NaiveLayout::padding ? sizes.size() : segment_of[static_cast<std::size_t>(index)];
    segments[s].push_back(index);
  }
  for (const List& segment : segments) deal_chunks(segment, out);
}

void deal_strided(const List& list, std::int64_t factor, Lists& out) {
  const auto n = static_cast<std::int64_t>(list.size());
  const std::int64_t size = rounded_up(n, factor);
  List block;
  for (std::int64_t p = 0; p < n; ++p) {
    block.push_back(list[static_cast<std::size_t>(p)]);
    if (std::ssize(block) == size || p + 1 == n) {
      deal_chunks(block, out);
      block.clear();
    }
  }
}

Lists deal(const List& list, const Placement& placement, std::int64_t parts) {
  Lists out(static_cast<std::size_t>(parts));
  switch (placement.rule) {
    case SplitRule::chunk:
    case SplitRule::even:
      deal_chunks(list, out);
      break;
    case SplitRule::balanced:
      deal_balanced(list, out);
      break;
    case SplitRule::padded:
      deal_padded(list, placement.parameter, out);
      break;
    case SplitRule::cuts:
      deal_sizes(list, placement.sizes, out);
      break;
    case SplitRule::segments:
      deal_segments(list, placement.sizes, out);
      break;
    case SplitRule::strided:
      deal_strided(list, placement.parameter, out);
      break;
  }
  return out;
}

}  // namespace

NaiveLayout::NaiveLayout(const Shape& shape, const Mesh& mesh, std::span<const Placement> placements)
    : shape_(shape),
      mesh_extents_(mesh.extents().begin(), mesh.extents().end()),
      mesh_size_(mesh.size()),
      replicates_(placements.size(), true),
      dims_(shape.size()) {
  for (std::size_t axis = 0; axis < placements.size(); ++axis) {
    if (placements[axis].dim < 0) continue;
    replicates_[axis] = false;
    dims_[static_cast<std::size_t>(placements[axis].dim)].axes.push_back(axis);
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Dim& dim = dims_[d];
    List whole;
    for (std::int64_t i = 0; i < shape[d]; ++i) whole.push_back(i);
    dim.lists = {whole};
    if (dim.axes.empty()) continue;
    if (placements[dim.axes[0]].rule == SplitRule::balanced) {
      std::int64_t parts = 1;
      for (const std::size_t axis : dim.axes) parts *= mesh_extents_[axis];
      dim.lists = deal(whole, placements[dim.axes[0]], parts);
      continue;
    }
    for (const std::size_t axis : dim.axes) {
      Lists finer;
      for (const List& list : dim.lists) {
        for (List& part : deal(list, placements[axis], mesh_extents_[axis])) finer.push_back(std::move(part));
      }
      dim.lists = std::move(finer);
    }
  }
}

std::int64_t NaiveLayout::coordinate(std::size_t mesh_index, std::size_t axis) const {
  auto rest = static_cast<std::int64_t>(mesh_index);
  for (std::size_t later = mesh_extents_.size(); --later > axis;) rest /= mesh_extents_[later];
  return rest % mesh_extents_[axis];
}

const std::vector<std::int64_t>& NaiveLayout::indices(std::size_t mesh_index, std::size_t dim) const {
  std::size_t list = 0;
  for (const std::size_t axis : dims_[dim].axes) {
    list =
        list * static_cast<std::size_t>(mesh_extents_[axis]) + static_cast<std::size_t>(coordinate(mesh_index, axis));
  }
  return dims_[dim].lists[list];
}

bool NaiveLayout::is_first_replica(std::size_t mesh_index) const {
  for (std::size_t axis = 0; axis < replicates_.size(); ++axis) {
    if (replicates_[axis] && coordinate(mesh_index, axis) != 0) return false;
  }
  return true;
}

}  // namespace reshardcheck
