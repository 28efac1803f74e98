// Tables over pieces and boxes. Ranges are found again by the run they start at, so numbering costs no search.
#include "core/plan/box_table.h"

#include <algorithm>

namespace reshardcheck {
namespace {

bool begins_before(const Interval& a, const Interval& b) { return a.begin < b.begin; }

bool inside(const Run& run, std::int64_t extent) {
  return run.length > 0 && run.begin >= 0 && run.begin < extent && run.length <= extent - run.begin;
}

}  // namespace

std::int64_t elements(const Part& part) {
  std::int64_t count = 1;
  for (const DimPart& dim : part) {
    if (dim.elements == 0) return 0;
    count *= dim.elements;
  }
  return count;
}

PieceTable::PieceTable(std::span<const DimPiece> pieces) {
  first_.reserve(pieces.size() + 1);
  first_.push_back(0);
  std::vector<std::pair<Interval, std::int64_t>> placed;
  for (const DimPiece& piece : pieces) {
    placed.clear();
    std::int64_t offset = 0;
    for (const Interval& interval : piece.owned.intervals()) {
      placed.emplace_back(interval, offset);
      offset += interval.size();
    }
    const auto earlier = [](const auto& a, const auto& b) { return begins_before(a.first, b.first); };
    if (!std::is_sorted(placed.begin(), placed.end(), earlier)) std::sort(placed.begin(), placed.end(), earlier);
    for (const auto& [interval, start] : placed) {
      intervals_.push_back(interval);
      offsets_.push_back(start);
    }
    first_.push_back(static_cast<std::uint32_t>(intervals_.size()));
  }
}

bool PieceTable::keeps(std::size_t piece, Interval global, std::int64_t offset) const {
  const auto begin = intervals_.begin() + first_[piece];
  const auto end = intervals_.begin() + first_[piece + 1];
  const auto after = std::upper_bound(begin, end, global, begins_before);
  if (after == begin) return false;
  const Interval& owned = *(after - 1);
  if (global.end > owned.end) return false;
  return offsets_[static_cast<std::size_t>(after - 1 - intervals_.begin())] + (global.begin - owned.begin) == offset;
}

DimPart PieceTable::part(std::size_t piece) const {
  DimPart result{std::span(intervals_).subspan(first_[piece], first_[piece + 1] - first_[piece]), 0};
  for (const Interval& interval : result.intervals) result.elements += interval.size();
  return result;
}

BoxTable::BoxTable(const Plan& plan, std::span<const std::int64_t> shape)
    : dims_(shape.size()), ranges_of_(plan.boxes.size() * shape.size()), faults_(plan.boxes.size()) {
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    by_first_.assign(plan.runs.size() + 1, 0);
    for (std::size_t box = 0; box < plan.boxes.size(); ++box) {
      ranges_of_[box * dims_ + dim] = number(plan, dim, plan.boxes[box].dims[dim], shape[dim]);
    }
  }
  for (std::size_t box = 0; box < plan.boxes.size(); ++box) faults_[box] = find_fault(plan.boxes[box], box);
}

std::uint32_t BoxTable::number(const Plan& plan, std::size_t dim, RunRange runs, std::int64_t extent) {
  DimTable& table = tables_[dim];
  std::uint32_t& chain = by_first_[std::min<std::size_t>(runs.first, plan.runs.size())];
  for (std::uint32_t next = chain; next != 0; next = table.ranges[next - 1].next) {
    if (table.ranges[next - 1].runs == runs) return next - 1;
  }
  Range range;
  range.runs = runs;
  range.first = table.intervals.size();
  range.next = chain;
  add_intervals(plan, table, range, extent);
  table.ranges.push_back(range);
  chain = static_cast<std::uint32_t>(table.ranges.size());
  return chain - 1;
}

void BoxTable::add_intervals(const Plan& plan, DimTable& table, Range& range, std::int64_t extent) {
  if (range.runs.count == 0) {
    range.fault = "no runs in a dim";
    return;
  }
  if (range.runs.first > plan.runs.size() || range.runs.count > plan.runs.size() - range.runs.first) {
    range.fault = "runs that do not exist";
    return;
  }
  for (const Run& run : std::span(plan.runs).subspan(range.runs.first, range.runs.count)) {
    if (!inside(run, extent)) {
      range.fault = "a run outside the tensor";
      table.intervals.resize(range.first);
      return;
    }
    table.intervals.push_back({run.begin, run.begin + run.length});
    range.elements += run.length;
    if (range.elements > extent) {
      range.fault = "runs that overlap";
      table.intervals.resize(range.first);
      return;
    }
  }
  const auto begin = table.intervals.begin() + static_cast<std::ptrdiff_t>(range.first);
  if (!std::is_sorted(begin, table.intervals.end(), begins_before)) {
    std::sort(begin, table.intervals.end(), begins_before);
  }
  const auto touching = std::adjacent_find(begin, table.intervals.end(),
                                           [](const Interval& a, const Interval& b) { return a.end > b.begin; });
  if (touching != table.intervals.end()) range.fault = "runs that overlap";
}

std::string_view BoxTable::find_fault(const Box& box, std::size_t index) const {
  std::int64_t product = 1;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    const Range& range = tables_[dim].ranges[ranges_of_[index * dims_ + dim]];
    if (!range.fault.empty()) return range.fault;
    product *= range.elements;  // at most the tensor's elements, because runs are inside it and disjoint
  }
  return product == box.elements ? std::string_view() : "a count that is not the product of its runs";
}

DimPart BoxTable::dim_part(std::size_t dim, std::uint32_t range) const {
  const Range& found = tables_[dim].ranges[range];
  return {std::span(tables_[dim].intervals).subspan(found.first, found.runs.count), found.elements};
}

Part BoxTable::part(std::uint32_t box) const {
  Part result;
  for (std::size_t dim = 0; dim < dims_; ++dim) result.push_back(dim_part(dim, range(box, dim)));
  return result;
}

}  // namespace reshardcheck
