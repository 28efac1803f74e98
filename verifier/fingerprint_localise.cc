#include "verifier/fingerprint_localise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/layout/result.h"

namespace reshardcheck {
namespace {

/// Multi-index of a row-major element.
Shape index_of(const Shape& shape, std::int64_t element) {
  Shape index(shape.size(), 0);
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = element % shape[dim];
    element /= shape[dim];
  }
  return index;
}

/// Whether a shard, given as its pieces from `dim` on, owns an element of a range that is relative to these dims.
bool owns_any(const Layout& layout, std::size_t shard, std::size_t dim, Interval range) {
  if (range.end <= range.begin) return false;
  if (dim == layout.dims()) return true;
  std::int64_t below = 1;  // elements under one index of this dim
  for (std::size_t inner = dim + 1; inner < layout.dims(); ++inner) below *= layout.shape()[inner];
  const std::int64_t first = range.begin / below;
  const std::int64_t last = (range.end - 1) / below;
  const IntervalList& owned = layout.shard_piece(shard, dim).owned;
  // Indices strictly between the first and the last are covered whole; these two in part.
  for (const Interval& interval : owned.intervals()) {
    const std::int64_t begin = std::max(interval.begin, first + 1);
    if (begin < std::min(interval.end, last) && owns_any(layout, shard, dim + 1, {0, below})) return true;
  }
  const auto edge = [&](std::int64_t index) {
    return owned.find(index).has_value() && owns_any(layout, shard, dim + 1,
                                                     {std::max<std::int64_t>(range.begin - index * below, 0),
                                                      std::min(range.end - index * below, below)});
  };
  return edge(first) || (last != first && edge(last));
}

}  // namespace

std::vector<Interval> fingerprint_parts(Interval range, const LocaliseOptions& options) {
  RESHARDCHECK_CHECK(options.fanout >= 2 && options.granule_elements >= 1);
  const std::int64_t granule = options.granule_elements;
  const std::int64_t granules = range.size() / granule + (range.size() % granule != 0 ? 1 : 0);
  const std::int64_t step = (granules / options.fanout + (granules % options.fanout != 0 ? 1 : 0)) * granule;
  std::vector<Interval> parts;
  for (std::int64_t begin = range.begin; begin < range.end;) {
    const std::int64_t end = range.end - begin <= step ? range.end : begin + step;
    parts.push_back({begin, end});
    begin = end;
  }
  return parts;
}

std::optional<Difference> first_difference(std::int64_t elements, const PartialFingerprints& mine,
                                           const PartialFingerprints& theirs, const LocaliseOptions& options) {
  Difference found{{0, elements}, 0};
  for (bool differs = false; !differs || found.elements.size() > options.granule_elements; differs = true) {
    const std::vector<Interval> parts = fingerprint_parts(found.elements, options);
    const std::vector<FingerprintState> a = mine(parts);
    const std::vector<FingerprintState> b = theirs(parts);
    RESHARDCHECK_CHECK(a.size() == parts.size() && b.size() == parts.size());
    found.exchanges += 1;
    const auto wrong = std::mismatch(a.begin(), a.end(), b.begin()).first;
    if (wrong == a.end()) {
      // Only the first exchange can find no difference; later ones look inside a range that differs. When a side's
      // data changes meanwhile, the range of the exchange before is still the answer.
      return differs ? std::optional(found) : std::nullopt;
    }
    found.elements = parts[static_cast<std::size_t>(wrong - a.begin())];
  }
  return found;
}

std::string describe_elements(const Shape& shape, Interval elements) {
  const std::string first = fmt::format("[{}]", fmt::join(index_of(shape, elements.begin), ","));
  if (elements.size() <= 1) return first;
  return fmt::format("{}..[{}]", first, fmt::join(index_of(shape, elements.end - 1), ","));
}

std::vector<Rank> holders(const Layout& layout, Interval elements) {
  std::vector<Rank> ranks;
  for (std::size_t shard = 0; shard < layout.shards(); ++shard) {
    if (!owns_any(layout, shard, 0, elements)) continue;
    const std::span<const Rank> group = layout.replicas(shard);
    ranks.insert(ranks.end(), group.begin(), group.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace reshardcheck
