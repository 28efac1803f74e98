// BoxTable and PieceTable: what the prover looks things up in.
//
// A PieceTable answers where a piece of one dim keeps a run of elements. A BoxTable holds the boxes of a plan that
// nobody vouches for: it numbers the distinct run ranges of each dim, keeps their intervals in ascending order, and
// says of each box whether it makes sense at all. Both belong to the prover alone; planners do not use them.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/layout.h"
#include "core/plan/plan.h"

namespace reshardcheck {

/// A set of elements of one dim: disjoint intervals, ascending, and how many elements they hold together.
struct DimPart {
  std::span<const Interval> intervals;
  std::int64_t elements = 0;
};

/// A product of such sets, one per dim: a shard, a box or a whole tensor, without any offsets.
using Part = boost::container::small_vector<DimPart, 4>;

/// The number of elements of a part.
std::int64_t elements(const Part& part);

class PieceTable {
 public:
  explicit PieceTable(std::span<const DimPiece> pieces);

  /// Does the piece keep these global indices, in this order, at this local offset?
  [[nodiscard]] bool keeps(std::size_t piece, Interval global, std::int64_t offset) const;

  [[nodiscard]] DimPart part(std::size_t piece) const;

 private:
  std::vector<Interval> intervals_;    // by piece, then ascending
  std::vector<std::int64_t> offsets_;  // of each interval
  std::vector<std::uint32_t> first_;   // by piece, one more than pieces
};

class BoxTable {
 public:
  BoxTable(const Plan& plan, std::span<const std::int64_t> shape);

  [[nodiscard]] std::size_t dims() const { return dims_; }

  /// Why a box makes no sense, empty when it does. The questions below are for boxes that do.
  [[nodiscard]] std::string_view fault(std::uint32_t box) const { return faults_[box]; }

  /// The number of the run range that a box has in a dim; equal numbers are equal ranges.
  [[nodiscard]] std::uint32_t range(std::uint32_t box, std::size_t dim) const { return ranges_of_[box * dims_ + dim]; }
  [[nodiscard]] std::size_t ranges(std::size_t dim) const { return tables_[dim].ranges.size(); }

  [[nodiscard]] DimPart dim_part(std::size_t dim, std::uint32_t range) const;
  [[nodiscard]] Part part(std::uint32_t box) const;

 private:
  struct Range {
    RunRange runs;
    std::size_t first = 0;  // of its intervals
    std::int64_t elements = 0;
    std::string_view fault;
    std::uint32_t next = 0;  // another range that starts at the same run, plus one; 0: none
  };
  struct DimTable {
    std::vector<Range> ranges;
    std::vector<Interval> intervals;
  };

  std::uint32_t number(const Plan& plan, std::size_t dim, RunRange runs, std::int64_t extent);
  void add_intervals(const Plan& plan, DimTable& table, Range& range, std::int64_t extent);
  [[nodiscard]] std::string_view find_fault(const Box& box, std::size_t index) const;

  std::size_t dims_;
  std::array<DimTable, limits::max_dims> tables_;
  std::vector<std::uint32_t> ranges_of_;  // by box, then dim
  std::vector<std::string_view> faults_;  // by box
  std::vector<std::uint32_t> by_first_;   // scratch: the first range of the dim that starts at a run, plus one
};

}  // namespace reshardcheck
