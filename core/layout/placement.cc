#include "core/layout/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace reshardcheck {
namespace {

std::int64_t ceil_divide(std::int64_t n, std::int64_t k) { return n / k + (n % k != 0 ? 1 : 0); }

/// The part of a piece at local positions [begin, end) of the local array, padding included.
DimPiece part(const DimPiece& piece, std::int64_t begin, std::int64_t end) {
  return {piece.owned.slice(begin, end), end - begin};
}

/// Adds `tail` behind `head`. Padding stays at the tail because every rule keeps local order.
void concatenate(DimPiece& head, const DimPiece& tail) {
  for (const Interval& interval : tail.owned.intervals()) head.owned.append(interval);
  head.local_extent += tail.local_extent;
}

std::vector<DimPiece> chunk(const DimPiece& piece, std::int64_t parts) {
  const std::int64_t extent = piece.local_extent;
  const std::int64_t size = ceil_divide(extent, parts);
  std::vector<DimPiece> result;
  for (std::int64_t i = 0; i < parts; ++i) {
    // i * size stays below extent + size * parts; saturate through min on the division instead of multiplying first.
    const std::int64_t begin = size == 0 || i > extent / size ? extent : std::min(i * size, extent);
    result.push_back(part(piece, begin, begin + std::min(size, extent - begin)));
  }
  return result;
}

std::vector<DimPiece> balanced(const DimPiece& piece, std::int64_t parts) {
  const std::int64_t small = piece.local_extent / parts;
  const std::int64_t larger = piece.local_extent % parts;
  std::vector<DimPiece> result;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t size = small + (i < larger ? 1 : 0);
    result.push_back(part(piece, begin, begin + size));
    begin += size;
  }
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
  std::vector<DimPiece> result;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    result.push_back(part(piece, begin, begin + size));
    begin += size;
  }
  return result;
}

/// Each segment is a global range of the dim; what the piece owns of it is chunked by itself. Padding that an
/// earlier axis left behaves as one more segment, so that the local arrays still cover it.
std::vector<DimPiece> segments(const DimPiece& piece, std::span<const std::int64_t> sizes, std::int64_t parts) {
  std::vector<DimPiece> result(static_cast<std::size_t>(parts));
  const auto deal = [&](const DimPiece& segment) {
    const std::vector<DimPiece> pieces = chunk(segment, parts);
    for (std::size_t i = 0; i < result.size(); ++i) concatenate(result[i], pieces[i]);
  };
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    IntervalList owned = piece.owned.within({begin, begin + size});
    const std::int64_t extent = owned.size();
    deal({std::move(owned), extent});
    begin += size;
  }
  const std::int64_t padding = piece.local_extent - piece.owned.size();
  if (padding > 0) deal({IntervalList{}, padding});
  return result;
}

/// FSDP2 + TP order (PyTorch `_StridedShard`): `factor` chunks, each chunked over the axis, concatenated.
std::vector<DimPiece> strided(const DimPiece& piece, std::int64_t factor, std::int64_t parts) {
  std::vector<DimPiece> result(static_cast<std::size_t>(parts));
  const std::int64_t size = ceil_divide(piece.local_extent, factor);
  for (std::int64_t begin = 0; begin < piece.local_extent; begin += size) {
    const DimPiece block = part(piece, begin, std::min(begin + size, piece.local_extent));
    const std::vector<DimPiece> pieces = chunk(block, parts);
    for (std::size_t i = 0; i < result.size(); ++i) concatenate(result[i], pieces[i]);
  }
  return result;
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
