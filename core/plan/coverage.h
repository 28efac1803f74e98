// Coverage: is a part of a tensor covered exactly once by a set of boxes?
//
// A right plan covers a shard by a full grid: per dim, distinct run ranges that do not overlap and together are the
// shard's, and one box for each combination. covers_as_grid() sees that in time proportional to the boxes. When it
// says no, the boxes may still be right, or wrong: find_overlap() and find_missing() decide and give the witness.
//
// All three expect boxes that make sense (BoxTable::fault); covers_as_grid() also that they lie inside the part.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/box_table.h"

namespace reshardcheck {

/// One interval per dim: the elements that witness a fault.
using Brick = std::vector<Interval>;

/// Two boxes, as positions in the list that was asked about, and elements that both hold.
struct BoxClash {
  std::size_t first = 0;
  std::size_t second = 0;
  Brick where;
};

/// What find_missing() may rely on.
enum class BoxSet : std::uint8_t { any, disjoint_inside };

class Coverage {
 public:
  explicit Coverage(const BoxTable& boxes);

  /// True: the boxes cover the part, each element once. False proves nothing.
  bool covers_as_grid(const Part& part, std::span<const std::uint32_t> boxes);

  /// Two boxes that share elements, or nothing when all are disjoint.
  [[nodiscard]] std::optional<BoxClash> find_overlap(std::span<const std::uint32_t> boxes) const;

  /// Elements of the part that no box holds, or nothing. The search looks at `max_visits` boxes at most. Knowing that
  /// boxes are disjoint and inside the part, it finds a gap without trying what is full.
  [[nodiscard]] std::optional<Brick> find_missing(const Part& part, std::span<const std::uint32_t> boxes,
                                                  BoxSet set) const;

  static constexpr std::int64_t max_visits = 100'000'000;

 private:
  struct Mark {
    std::uint32_t epoch = 0;
    std::uint32_t place = 0;  // among the distinct ranges of the current question
  };

  bool disjoint(std::size_t dim, const std::vector<std::uint32_t>& ranges);

  const BoxTable& boxes_;
  std::uint32_t epoch_ = 0;
  std::array<std::vector<Mark>, limits::max_dims> marks_;  // by range
  /// By their first range, the range lists that were found disjoint: ranks with equal pieces ask the same again.
  std::array<std::vector<std::vector<std::uint32_t>>, limits::max_dims> known_disjoint_;
  std::vector<std::uint32_t> distinct_;
  std::vector<std::size_t> cells_;  // by box of the current question: its cell of the grid
  std::vector<Interval> sorted_;
  std::vector<bool> filled_;
};

}  // namespace reshardcheck
