#include "core/layout/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace reshardcheck {
namespace {

std::int64_t ceil_divide(std::int64_t n, std::int64_t k) { return n / k + (n % k != 0 ? 1 : 0); }

/// Cuts a piece from its local front to its end, so that splitting costs one walk over its intervals.
class Cutter {
 public:
  explicit Cutter(const DimPiece& piece) : intervals_(piece.owned.intervals()), extent_left_(piece.local_extent) {}

  [[nodiscard]] std::int64_t extent_left() const { return extent_left_; }

  /// The next `extent` local positions; those behind the last element are padding.
  DimPiece take(std::int64_t extent) {
    DimPiece part{{}, extent};
    extent_left_ -= extent;
    while (extent > 0 && next_ < intervals_.size()) extent -= take_from_interval(extent, part.owned);
    return part;
  }

  /// The next elements whose global index is below `end`, as a piece without padding. Lists are ascending.
  DimPiece take_below(std::int64_t end) {
    DimPiece part;
    while (next_ < intervals_.size() && front() < end) {
      part.local_extent += take_from_interval(end - front(), part.owned);
    }
    extent_left_ -= part.local_extent;
    return part;
  }

 private:
  [[nodiscard]] std::int64_t front() const { return intervals_[next_].begin + used_; }

  std::int64_t take_from_interval(std::int64_t most, IntervalList& owned) {
    const std::int64_t taken = std::min(most, intervals_[next_].end - front());
    owned.append({front(), front() + taken});
    used_ += taken;
    if (used_ == intervals_[next_].size()) {
      next_ += 1;
      used_ = 0;
    }
    return taken;
  }

  std::span<const Interval> intervals_;
  std::int64_t extent_left_;
  std::size_t next_ = 0;   // the interval at the front
  std::int64_t used_ = 0;  // elements of it that are taken
};

/// Adds `tail` behind `head`. Padding stays at the tail because every rule keeps local order.
void concatenate(DimPiece& head, const DimPiece& tail) {
  for (const Interval& interval : tail.owned.intervals()) head.owned.append(interval);
  head.local_extent += tail.local_extent;
}

std::vector<DimPiece> chunk(const DimPiece& piece, std::int64_t parts) {
  const std::int64_t size = ceil_divide(piece.local_extent, parts);
  Cutter cutter(piece);
  std::vector<DimPiece> result;
  for (std::int64_t i = 0; i < parts; ++i) result.push_back(cutter.take(std::min(size, cutter.extent_left())));
  return result;
}

std::vector<DimPiece> balanced(const DimPiece& piece, std::int64_t parts) {
  const std::int64_t small = piece.local_extent / parts;
  const std::int64_t larger = piece.local_extent % parts;
  Cutter cutter(piece);
  std::vector<DimPiece> result;
  for (std::int64_t i = 0; i < parts; ++i) result.push_back(cutter.take(small + (i < larger ? 1 : 0)));
  return result;
}

Result<std::vector<DimPiece>> even(const DimPiece& piece, std::int64_t parts) {
  if (piece.local_extent % parts != 0) {
    return Error{fmt::format("rule even: {} does not divide by {}", piece.local_extent, parts)};
  }
  return chunk(piece, parts);
}

/// The least multiple of `step` that is at least `n`, or an error when it does not fit 64 bits.
Result<std::int64_t> round_up(std::int64_t n, std::int64_t step) {
  std::int64_t rounded = 0;
  if (__builtin_mul_overflow(ceil_divide(n, step), step, &rounded)) return Error{"the padded extent overflows 64 bits"};
  return rounded;
}

Result<std::vector<DimPiece>> padded(const DimPiece& piece, std::int64_t multiple, std::int64_t parts) {
  Result<std::int64_t> extent = round_up(piece.local_extent, multiple);
  if (extent) extent = round_up(*extent, parts);
  if (!extent) return extent.error();
  return chunk(DimPiece{piece.owned, *extent}, parts);
}

Result<std::vector<DimPiece>> cuts(const DimPiece& piece, std::span<const std::int64_t> sizes, std::int64_t parts) {
  if (std::ssize(sizes) != parts) {
    return Error{fmt::format("cuts: {} sizes for an axis of {} coordinates", sizes.size(), parts)};
  }
  const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (sum != piece.local_extent) {
    return Error{fmt::format("cuts sum to {}, the dim has {}", sum, piece.local_extent)};
  }
  Cutter cutter(piece);
  std::vector<DimPiece> result;
  for (const std::int64_t size : sizes) result.push_back(cutter.take(size));
  return result;
}

/// Deals one block of a piece over the coordinates, behind what they hold already.
void deal(const DimPiece& block, std::vector<DimPiece>& coordinates) {
  const std::vector<DimPiece> pieces = chunk(block, std::ssize(coordinates));
  for (std::size_t i = 0; i < coordinates.size(); ++i) concatenate(coordinates[i], pieces[i]);
}

/// Each segment is a global range of the dim; what the piece owns of it is chunked by itself. Padding that an
/// earlier axis left behaves as one more segment, so that the local arrays still cover it.
std::vector<DimPiece> segments(const DimPiece& piece, std::span<const std::int64_t> sizes, std::int64_t parts) {
  std::vector<DimPiece> result(static_cast<std::size_t>(parts));
  Cutter cutter(piece);
  std::int64_t end = 0;
  for (const std::int64_t size : sizes) {
    end += size;
    deal(cutter.take_below(end), result);
  }
  deal(cutter.take(cutter.extent_left()), result);
  return result;
}

/// FSDP2 + TP order (PyTorch `_StridedShard`): `factor` chunks, each chunked over the axis, concatenated.
std::vector<DimPiece> strided(const DimPiece& piece, std::int64_t factor, std::int64_t parts) {
  std::vector<DimPiece> result(static_cast<std::size_t>(parts));
  const std::int64_t size = ceil_divide(piece.local_extent, factor);
  Cutter cutter(piece);
  while (cutter.extent_left() > 0) deal(cutter.take(std::min(size, cutter.extent_left())), result);
  return result;
}

/// How many blocks a rule deals out one by one.
std::int64_t blocks(const DimPiece& piece, const Placement& placement) {
  if (placement.rule == SplitRule::segments) return std::ssize(placement.sizes) + 1;
  if (placement.rule == SplitRule::strided) return std::min(placement.parameter, piece.local_extent);
  return 1;
}

}  // namespace

std::string_view name(SplitRule rule) {
  constexpr std::string_view names[] = {"chunk", "balanced", "even", "padded", "cuts", "segments", "strided"};
  return names[static_cast<std::size_t>(rule)];
}

std::string Placement::text() const {
  if (is_replicate()) return "R";
  switch (rule) {
    case SplitRule::chunk:
      return fmt::format("S({})", dim);
    case SplitRule::strided:
      return fmt::format("_S({},{})", dim, parameter);
    case SplitRule::padded:
      if (parameter != 1) return fmt::format("S({},pad={})", dim, parameter);
      break;
    case SplitRule::cuts:
    case SplitRule::segments:
      return fmt::format("S({},{}={})", dim, name(rule), fmt::join(sizes, "|"));
    case SplitRule::balanced:
    case SplitRule::even:
      break;
  }
  return fmt::format("S({},{})", dim, name(rule));
}

std::int64_t split_intervals(const DimPiece& piece, const Placement& placement, std::int64_t parts) {
  return std::ssize(piece.owned.intervals()) + blocks(piece, placement) * parts;
}

Result<std::vector<DimPiece>> split(const DimPiece& piece, const Placement& placement, std::int64_t parts) {
  switch (placement.rule) {
    case SplitRule::chunk:
      return chunk(piece, parts);
    case SplitRule::balanced:
      return balanced(piece, parts);
    case SplitRule::even:
      return even(piece, parts);
    case SplitRule::padded:
      return padded(piece, placement.parameter, parts);
    case SplitRule::cuts:
      return cuts(piece, placement.sizes, parts);
    case SplitRule::segments:
      return segments(piece, placement.sizes, parts);
    case SplitRule::strided:
      return strided(piece, placement.parameter, parts);
  }
  RESHARDCHECK_CHECK(false && "unknown split rule");
}

}  // namespace reshardcheck
