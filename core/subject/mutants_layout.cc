// Mutants that misread a layout: each changes the pieces that ranks seem to hold and plans from those.
#include <algorithm>

#include "core/subject/misread.h"
#include "core/subject/mutant.h"

namespace reshardcheck {
namespace {

std::int64_t extent_of(const SeenSide& side, std::size_t dim) { return side.shape()[dim]; }

bool all_use(const SeenSide& side, const std::vector<std::size_t>& axes, SplitRule rule) {
  return !axes.empty() && std::all_of(axes.begin(), axes.end(),
                                      [&](std::size_t axis) { return side.layout.placements()[axis].rule == rule; });
}

/// The coordinates of a mesh index along some axes, as one row-major number.
std::size_t flat_coordinate(const SeenSide& side, std::size_t index, const std::vector<std::size_t>& axes) {
  std::int64_t flat = 0;
  for (const std::size_t axis : axes) {
    flat = flat * side.layout.mesh().extents()[axis] + side.layout.mesh().coordinate(index, axis);
  }
  return static_cast<std::size_t>(flat);
}

std::int64_t coordinates(const SeenSide& side, const std::vector<std::size_t>& axes) {
  std::int64_t product = 1;
  for (const std::size_t axis : axes) product *= side.layout.mesh().extents()[axis];
  return product;
}

/// A dim that one axis shards by chunk: extent, coordinates, and ceil(extent / coordinates). Otherwise 0 coordinates.
struct PlainChunk {
  std::int64_t extent = 0;
  std::int64_t coordinates = 0;
  std::int64_t larger = 0;
  std::vector<std::size_t> axes;

  PlainChunk(const SeenSide& side, std::size_t dim) : extent(extent_of(side, dim)), axes(side.axes_of(dim)) {
    if (axes.size() != 1 || !all_use(side, axes, SplitRule::chunk)) return;
    coordinates = reshardcheck::coordinates(side, axes);
    larger = (extent + coordinates - 1) / coordinates;
  }
  [[nodiscard]] bool is_uneven() const { return coordinates > 0 && extent % coordinates != 0; }
};

/// Sees the layout with other placements; the truth when those are no layout.
template <typename Change>
void reread(SeenSide& side, Change change) {
  std::vector<Placement> placements(side.layout.placements().begin(), side.layout.placements().end());
  change(placements);
  const Result<Layout> other = Layout::make(side.shape(), side.layout.mesh(), std::move(placements));
  if (other.ok()) side.take_pieces_of(*other);
}

void read_rule_as_chunk(SeenSide& side, SplitRule rule) {
  reread(side, [&](std::vector<Placement>& placements) {
    for (Placement& placement : placements) {
      if (placement.is_shard() && placement.rule == rule) placement = Placement::shard(placement.dim);
    }
  });
}

void flat_chunk(SeenSide& side) {
  for (std::size_t dim = 0; dim < side.dims(); ++dim) {
    const std::vector<std::size_t> axes = side.axes_of(dim);
    if (axes.size() < 2 || !all_use(side, axes, SplitRule::chunk)) continue;
    const DimPiece whole{IntervalList({0, extent_of(side, dim)}), extent_of(side, dim)};
    const auto pieces = split(whole, Placement::shard(static_cast<int>(dim)), coordinates(side, axes));
    for (std::size_t i = 0; i < side.size(); ++i) side.piece(i, dim) = (*pieces)[flat_coordinate(side, i, axes)];
  }
}

void floor_offset(SeenSide& side) {
  for (std::size_t dim = 0; dim < side.dims(); ++dim) {
    const PlainChunk chunk(side, dim);
    if (!chunk.is_uneven()) continue;
    for (std::size_t i = 0; i < side.size(); ++i) {
      const auto coordinate = static_cast<std::int64_t>(flat_coordinate(side, i, chunk.axes));
      const std::int64_t begin = coordinate * (chunk.extent / chunk.coordinates);
      side.piece(i, dim).owned = IntervalList({begin, std::min(begin + chunk.larger, chunk.extent)});
    }
  }
}

/// Lets a piece that ends with the last element of the dim go on to `end`.
void extend_tail(DimPiece& piece, std::int64_t extent, std::int64_t end) {
  if (!piece.owned.empty() && piece.owned.intervals().back().end == extent) piece.owned.append({extent, end});
}

void keep_padding(SeenSide& source, SeenSide& target) {
  for (std::size_t dim = 0; dim < source.dims(); ++dim) {
    // The local arrays one after another, padding and all, taken for the dim.
    std::vector<Interval> arrays;
    std::int64_t end = 0;
    bool plain = true;
    for (const DimPiece& piece : source.layout.pieces(dim)) {
      plain = plain && piece.owned.intervals().size() <= 1;
      arrays.push_back({end, end + piece.local_extent});
      end += piece.local_extent;
    }
    if (!plain || end == extent_of(source, dim)) continue;
    for (std::size_t i = 0; i < source.size(); ++i) {
      source.piece(i, dim).owned = IntervalList(arrays[source.layout.piece_index(i, dim)]);
    }
    for (std::size_t i = 0; i < target.size(); ++i) extend_tail(target.piece(i, dim), extent_of(target, dim), end);
  }
}

void last_full(SeenSide& source, SeenSide& target) {
  for (std::size_t dim = 0; dim < target.dims(); ++dim) {
    const PlainChunk chunk(target, dim);
    if (!chunk.is_uneven()) continue;
    const std::int64_t end = (chunk.extent + chunk.larger - 1) / chunk.larger * chunk.larger;
    for (std::size_t i = 0; i < target.size(); ++i) extend_tail(target.piece(i, dim), chunk.extent, end);
    for (std::size_t i = 0; i < source.size(); ++i) extend_tail(source.piece(i, dim), chunk.extent, end);
  }
}

void empty_offset(SeenSide& side) {
  if (!side.is_source) return;
  const SeenSide truth(side.layout, true);
  for (std::size_t dim = 0; dim < side.dims(); ++dim) {
    // Shards are looked up by offset: the last empty one has taken the place of the one that starts at 0.
    const auto pieces = side.layout.pieces(dim);
    const auto last_empty =
        std::find_if(pieces.rbegin(), pieces.rend(), [](const DimPiece& p) { return p.owned.empty(); });
    const auto first = std::find_if(pieces.begin(), pieces.end(),
                                    [](const DimPiece& p) { return !p.owned.empty() && p.owned.at(0) == 0; });
    if (last_empty == pieces.rend() || first == pieces.end()) continue;
    for (std::size_t i = 0; i < side.size(); ++i) {
      const DimPiece* own = &pieces[side.layout.piece_index(i, dim)];
      if (own == &*last_empty) side.piece(i, dim).owned = first->owned;
      if (own == &*first) side.piece(i, dim).owned = IntervalList();
    }
  }
}

void axis_order(SeenSide& side) {
  for (std::size_t dim = 0; dim < side.dims(); ++dim) {
    std::vector<std::size_t> axes = side.axes_of(dim);
    if (axes.size() < 2) continue;
    std::reverse(axes.begin(), axes.end());
    std::vector<DimPiece> pieces = {{IntervalList({0, extent_of(side, dim)}), extent_of(side, dim)}};
    const bool flat = all_use(side, axes, SplitRule::balanced);
    bool valid = true;
    for (const std::size_t axis : flat ? std::vector<std::size_t>{axes.front()} : axes) {
      std::vector<DimPiece> finer;
      const std::int64_t parts = flat ? coordinates(side, axes) : side.layout.mesh().extents()[axis];
      for (const DimPiece& piece : pieces) {
        auto parted = split(piece, side.layout.placements()[axis], parts);
        valid = valid && parted.ok();
        if (parted.ok()) finer.insert(finer.end(), parted->begin(), parted->end());
      }
      pieces = std::move(finer);
    }
    if (!valid) continue;
    for (std::size_t i = 0; i < side.size(); ++i) side.piece(i, dim) = pieces[flat_coordinate(side, i, axes)];
  }
}

/// Exchanges the first two segments in every local array; false when the side has none.
bool swap_segments(SeenSide& side) {
  bool found = false;
  for (const Placement& placement : side.layout.placements()) {
    if (!placement.is_shard() || placement.rule != SplitRule::segments || placement.sizes.size() < 2) continue;
    const auto dim = static_cast<std::size_t>(placement.dim);
    const std::int64_t middle = placement.sizes[0];
    const std::int64_t end = middle + placement.sizes[1];
    if (middle == 0 || end == middle) continue;
    found = true;
    for (std::size_t i = 0; i < side.size(); ++i) {
      const IntervalList owned = side.layout.piece(i, dim).owned;
      IntervalList swapped;
      for (const Interval part : {Interval{middle, end}, Interval{0, middle}, Interval{end, extent_of(side, dim)}}) {
        const IntervalList local = owned.within(part);
        for (const Interval& interval : local.intervals()) swapped.append(interval);
      }
      side.piece(i, dim).owned = swapped;
    }
  }
  return found;
}

void floor_remainder(SeenSide& source, SeenSide& target) {
  for (std::size_t dim = 0; dim < source.dims(); ++dim) {
    std::int64_t kept = extent_of(source, dim);
    for (const SeenSide* side : {&source, &target}) {
      const PlainChunk chunk(*side, dim);
      if (chunk.is_uneven()) kept = std::min(kept, chunk.extent / chunk.coordinates * chunk.coordinates);
    }
    if (kept == extent_of(source, dim)) continue;
    for (std::size_t i = 0; i < source.size(); ++i) {
      source.piece(i, dim).owned = source.piece(i, dim).owned.within({0, kept});
    }
  }
}

void orphan_experts(SeenSide& side) {
  if (side.is_source || side.dims() == 0) return;
  const std::vector<std::size_t> axes = side.axes_of(0);
  if (axes.empty()) return;
  const std::int64_t each = extent_of(side, 0) / coordinates(side, axes);
  for (std::size_t i = 0; i < side.size(); ++i) side.piece(i, 0).owned = side.piece(i, 0).owned.slice(0, each);
}

void size_one_axis(SeenSide& side) {
  const auto extents = side.layout.mesh().extents();
  const auto one = std::find(extents.begin(), extents.end(), 1);
  if (one == extents.end()) return;
  reread(side, [&](std::vector<Placement>& placements) {
    for (std::size_t axis = placements.size(); --axis > static_cast<std::size_t>(one - extents.begin());) {
      placements[axis] = placements[axis - 1];
    }
  });
}

void kv_cyclic(SeenSide& side) {
  // Coordinates are dealt as if the axes that replicate came first.
  std::vector<std::size_t> order;
  for (const bool replicating : {true, false}) {
    for (std::size_t axis = 0; axis < side.layout.placements().size(); ++axis) {
      if (side.layout.placements()[axis].is_replicate() == replicating) order.push_back(axis);
    }
  }
  const auto extents = side.layout.mesh().extents();
  const SeenSide truth(side.layout, side.is_source);
  for (std::size_t i = 0; i < side.size(); ++i) {
    std::size_t left = i;
    std::vector<std::size_t> coordinate(order.size());
    for (std::size_t k = order.size(); k-- > 0;) {
      const auto extent = static_cast<std::size_t>(extents[order[k]]);
      coordinate[order[k]] = left % extent;
      left /= extent;
    }
    std::size_t dealt = 0;
    for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
      dealt = dealt * static_cast<std::size_t>(extents[axis]) + coordinate[axis];
    }
    for (std::size_t dim = 0; dim < side.dims(); ++dim) side.piece(i, dim) = truth.piece(dealt, dim);
  }
}

void shard_zero(SeenSide& side) {
  if (side.is_source) return;
  for (std::size_t i = 1; i < side.size(); ++i) {
    for (std::size_t dim = 0; dim < side.dims(); ++dim) {
      IntervalList& owned = side.piece(i, dim).owned;
      owned = side.piece(0, dim).owned.slice(0, owned.size());
    }
  }
}

/// A deviation whose wrong places may lie in the guard bands.
Deviation reaching(Deviation deviation) {
  deviation.engine.reach_bytes = guard_band_bytes;
  return deviation;
}

template <auto Misreading>
Deviation one_side(const MutantOptions&) {
  return misread(Misreading);
}

template <auto Misreading>
Deviation both_sides(const MutantOptions&) {
  return misread_both(Misreading);
}

template <SplitRule Rule>
Deviation as_chunk(const MutantOptions&) {
  return misread([](SeenSide& side) { read_rule_as_chunk(side, Rule); });
}

void segment_swap(SeenSide& source, SeenSide& target) {
  if (!swap_segments(source)) swap_segments(target);
}

}  // namespace

std::vector<Mutant> layout_mutants() {
  return {
      {"flat-chunk", "several axes on one dim are treated as one axis of chunk sizes", "mismatch, unwritten",
       "pytorch#194457", one_side<flat_chunk>},
      {"balanced-as-chunk", "balanced split read as ceil split", "mismatch, unwritten",
       "Paddle#56149, NeMo RL debug path against fast path", as_chunk<SplitRule::balanced>},
      {"floor-offset", "offsets from floor(n/k), sizes from ceil", "mismatch, unwritten", "pytorch#188947",
       one_side<floor_offset>},
      {"keep-padding", "padding of the last shard is delivered as data", "guard, mismatch", "pytorch#103306",
       [](const MutantOptions&) { return reaching(misread_both(keep_padding)); }},
      {"empty-offset", "an empty shard's offset is 0 instead of the extent", "mismatch, unwritten",
       "pytorch#150862, #161368", one_side<empty_offset>},
      {"axis-order", "two axes on one dim composed in the other order", "mismatch, unwritten",
       "pytorch#129229, #160266", one_side<axis_order>},
      {"strided-as-plain", "`_S(d,f)` read as `S(d)`", "mismatch, unwritten", "pytorch#168134, #170915",
       as_chunk<SplitRule::strided>},
      {"segments-as-plain", "fused dim cut as one", "mismatch, unwritten",
       "Megatron-LM#520, sglang#34529, Megatron-Bridge#1690", as_chunk<SplitRule::segments>},
      {"segment-swap", "gate and up (first two segments) exchanged", "mismatch", "slime#1840",
       both_sides<segment_swap>},
      {"last-full", "the last shard is assumed full-sized", "guard, mismatch", "tt-metal#12083",
       [](const MutantOptions&) { return reaching(misread_both(last_full)); }},
      {"floor-remainder", "the remainder of an uneven split is dropped without error",
       "unwritten, mismatch, invalid_accepted", "M2N single-call path", both_sides<floor_remainder>},
      {"size-one-axis", "an axis of extent 1 shifts the axes after it", "mismatch, unwritten", "nccl-extensions#9",
       one_side<size_one_axis>},
      {"kv-cyclic", "replicated heads dealt cyclically, not in blocks", "mismatch, unwritten", "tpu-inference#1429",
       one_side<kv_cyclic>},
      {"shard-zero", "every rank loads shard 0 (shapes look right)", "mismatch, unwritten", "vllm-gguf-plugin#103",
       one_side<shard_zero>},
      {"orphan-experts", "extent // ranks; the rest belongs to nobody", "unwritten", "awsome-distributed-ai#1240",
       one_side<orphan_experts>},
  };
}

}  // namespace reshardcheck
