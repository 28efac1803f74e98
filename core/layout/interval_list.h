// IntervalList: what a mesh coordinate owns of one tensor dim.
//
// Half-open intervals of global indices, in local order: their concatenation is the local extent of the dim.
// Every split rule is in the end a function from a mesh coordinate to such a list; planners and verifiers see
// only the list and never ask which rule made it. Intervals are disjoint and never empty; two that touch are one.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reshardcheck {

/// Global indices begin, begin+1, ..., end-1 of one dim.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

class IntervalList {
 public:
  IntervalList() = default;
  explicit IntervalList(Interval whole) { append(whole); }

  /// Adds an interval at the local end; an empty one is dropped, one that continues the last is merged into it.
  /// The caller keeps the list disjoint.
  void append(Interval interval);

  [[nodiscard]] std::span<const Interval> intervals() const { return {intervals_.data(), intervals_.size()}; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// The elements at local positions [begin, end), clamped to the list.
  [[nodiscard]] IntervalList slice(std::int64_t begin, std::int64_t end) const;

  /// The elements that lie in the global interval, in local order.
  [[nodiscard]] IntervalList within(Interval global) const;

  /// The global index at a local position in [0, size()).
  [[nodiscard]] std::int64_t at(std::int64_t local) const;

  /// The local position of a global index, or nothing when the list does not own it.
  [[nodiscard]] std::optional<std::int64_t> find(std::int64_t global) const;

  /// "[0,2)[5,6)", and "[)" for an empty list.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const IntervalList& a, const IntervalList& b) { return a.intervals_ == b.intervals_; }

 private:
  boost::container::small_vector<Interval, 2> intervals_;
  std::int64_t size_ = 0;
};

/// A run of global indices that two lists share: where it starts and lies in each list's local order.
struct Overlap {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t first_offset = 0;
  std::int64_t second_offset = 0;
  friend bool operator==(const Overlap&, const Overlap&) = default;
};

/// Appends to `out` the runs that both lists own, in ascending global order. Linear in the two lists when both
/// are ascending (every rule of the notation gives such), otherwise after a sort. Returns the elements shared.
std::int64_t intersect(const IntervalList& first, const IntervalList& second, std::vector<Overlap>& out);

}  // namespace reshardcheck
