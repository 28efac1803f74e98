#include "core/layout/interval_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/layout/result.h"

namespace reshardcheck {
namespace {

/// An interval with the local offset at which it starts.
struct Placed {
  Interval interval;
  std::int64_t offset;
};

using PlacedList = boost::container::small_vector<Placed, 4>;

PlacedList ascending(const IntervalList& list) {
  PlacedList placed;
  std::int64_t offset = 0;
  bool sorted = true;
  for (const Interval& interval : list.intervals()) {
    sorted = sorted && (placed.empty() || placed.back().interval.end <= interval.begin);
    placed.push_back({interval, offset});
    offset += interval.size();
  }
  if (!sorted) {
    std::sort(placed.begin(), placed.end(),
              [](const Placed& a, const Placed& b) { return a.interval.begin < b.interval.begin; });
  }
  return placed;
}

}  // namespace

void IntervalList::append(Interval interval) {
  if (interval.end <= interval.begin) return;
  size_ += interval.size();
  if (!intervals_.empty() && intervals_.back().end == interval.begin) {
    intervals_.back().end = interval.end;
  } else {
    intervals_.push_back(interval);
  }
}

IntervalList IntervalList::slice(std::int64_t begin, std::int64_t end) const {
  IntervalList result;
  std::int64_t offset = 0;
  for (const Interval& interval : intervals_) {
    if (offset >= end) break;
    const std::int64_t low = std::max<std::int64_t>(begin - offset, 0);
    const std::int64_t high = std::min(end - offset, interval.size());
    if (low < high) result.append({interval.begin + low, interval.begin + high});
    offset += interval.size();
  }
  return result;
}

IntervalList IntervalList::within(Interval global) const {
  IntervalList result;
  for (const Interval& interval : intervals_) {
    result.append({std::max(interval.begin, global.begin), std::min(interval.end, global.end)});
  }
  return result;
}

std::int64_t IntervalList::at(std::int64_t local) const {
  for (const Interval& interval : intervals_) {
    if (local < interval.size()) return interval.begin + local;
    local -= interval.size();
  }
  RESHARDCHECK_CHECK(false && "local position beyond the list");
}

std::optional<std::int64_t> IntervalList::find(std::int64_t global) const {
  std::int64_t offset = 0;
  for (const Interval& interval : intervals_) {
    if (global >= interval.begin && global < interval.end) return offset + (global - interval.begin);
    offset += interval.size();
  }
  return std::nullopt;
}

std::string IntervalList::text() const {
  if (intervals_.empty()) return "[)";
  std::string result;
  for (const Interval& interval : intervals_) {
    fmt::format_to(std::back_inserter(result), "[{},{})", interval.begin, interval.end);
  }
  return result;
}

std::int64_t intersect(const IntervalList& first, const IntervalList& second, std::vector<Overlap>& out) {
  const PlacedList a = ascending(first);
  const PlacedList b = ascending(second);
  std::int64_t shared = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const std::int64_t low = std::max(a[i].interval.begin, b[j].interval.begin);
    const std::int64_t high = std::min(a[i].interval.end, b[j].interval.end);
    if (low < high) {
      out.push_back(
          {low, high - low, a[i].offset + low - a[i].interval.begin, b[j].offset + low - b[j].interval.begin});
      shared += high - low;
    }
    // The interval that ends first can meet nothing further on.
    (a[i].interval.end < b[j].interval.end ? i : j) += 1;
  }
  return shared;
}

}  // namespace reshardcheck
