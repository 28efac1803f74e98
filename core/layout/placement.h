// Placement: what one mesh axis does to a tensor: replicate it, or shard one dim by a split rule.
//
// The rules differ because real systems differ (DTensor's chunk, NumPy's balanced array_split, Megatron's even,
// XLA's padded, fused projections' segments, FSDP2+TP's strided order). split() is the one function that knows
// them; everything after it sees interval lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/interval_list.h"
#include "core/layout/result.h"

namespace reshardcheck {

enum class SplitRule : std::uint8_t { chunk, balanced, even, padded, cuts, segments, strided };

/// Every rule, in the order of the enumeration, and the word that names it on the command line and in reports.
inline constexpr SplitRule all_rules[] = {SplitRule::chunk, SplitRule::balanced, SplitRule::even,   SplitRule::padded,
                                          SplitRule::cuts,  SplitRule::segments, SplitRule::strided};
[[nodiscard]] std::string_view name(SplitRule rule);

struct Placement {
  static constexpr int replicate_dim = -1;

  int dim = replicate_dim;            // the tensor dim this axis shards, or replicate_dim
  SplitRule rule = SplitRule::chunk;  // how, when it shards
  std::int64_t parameter = 0;         // padded: round the extent up to a multiple of this first (1: none);
                                      // strided: the split factor; otherwise 0
  std::vector<std::int64_t> sizes;    // cuts, segments: the sizes; otherwise empty

  static Placement replicate() { return {}; }
  static Placement shard(int dim, SplitRule rule = SplitRule::chunk) {
    return {dim, rule, rule == SplitRule::padded ? 1 : 0, {}};
  }
  static Placement padded(int dim, std::int64_t multiple) { return {dim, SplitRule::padded, multiple, {}}; }
  static Placement strided(int dim, std::int64_t factor) { return {dim, SplitRule::strided, factor, {}}; }
  static Placement cuts(int dim, std::vector<std::int64_t> sizes) {
    return {dim, SplitRule::cuts, 0, std::move(sizes)};
  }
  static Placement segments(int dim, std::vector<std::int64_t> sizes) {
    return {dim, SplitRule::segments, 0, std::move(sizes)};
  }

  [[nodiscard]] bool is_replicate() const { return dim == replicate_dim; }
  [[nodiscard]] bool is_shard() const { return !is_replicate(); }

  /// "R", "S(0)", "S(1,balanced)", "S(0,pad=4)", "S(0,segments=6|2|2)", "_S(0,2)".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// What a coordinate holds of one dim: the elements, in local order, and the local extent. The extent exceeds the
/// number of elements only under the padded rules; the padding is always the tail.
struct DimPiece {
  IntervalList owned;
  std::int64_t local_extent = 0;
  friend bool operator==(const DimPiece&, const DimPiece&) = default;
};

/// At least as many intervals as split() makes of a piece, and what it costs. Inputs are within limits.h, so that
/// this fits 64 bits.
std::int64_t split_intervals(const DimPiece& piece, const Placement& placement, std::int64_t parts);

/// Splits a piece over the `parts` coordinates of one axis: the local array (padding included) is what the axis
/// re-splits. The piece's intervals ascend, and so do those of the parts. Source of each formula: the table of rules
/// in README.md, and for chunk and strided PyTorch's `distribute_tensor`, for even and padded XLA. Error when the
/// rule cannot split this piece.
Result<std::vector<DimPiece>> split(const DimPiece& piece, const Placement& placement, std::int64_t parts);

}  // namespace reshardcheck
