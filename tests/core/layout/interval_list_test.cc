// Goal: an interval list behaves as the plain sequence of indices that it stands for.
// Method: every operation is held against the same operation on a std::vector of indices.
#include "core/layout/interval_list.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/arbitrary_layout.h"

namespace reshardcheck {
namespace {

using Indices = std::vector<std::int64_t>;

Indices indices(const IntervalList& list) {
  Indices result;
  for (const Interval& interval : list.intervals()) {
    for (std::int64_t i = interval.begin; i < interval.end; ++i) result.push_back(i);
  }
  return result;
}

/// Disjoint intervals of [0, 40), ascending or in any order.
rc::Gen<IntervalList> interval_list(bool ascending) {
  return rc::gen::exec([ascending] {
    std::vector<Interval> drawn;
    std::int64_t begin = 0;
    while (begin < 40) {
      begin += *arbitrary::integer(0, 6);
      const std::int64_t end = begin + *arbitrary::integer(0, 6);
      drawn.push_back({begin, end});
      begin = std::max(end, begin + 1);
    }
    if (!ascending) {
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        std::swap(drawn[i], drawn[static_cast<std::size_t>(*arbitrary::integer(0, std::ssize(drawn) - 1))]);
      }
    }
    IntervalList list;
    for (const Interval& interval : drawn) list.append(interval);
    return list;
  });
}

rc::Gen<IntervalList> any_list() {
  return rc::gen::exec([] { return *interval_list(*arbitrary::one_in(2)); });
}

RC_GTEST_PROP(IntervalListLaws, IntervalsAreNeverEmptyAndNeverTouch, ()) {
  const IntervalList list = *any_list();
  std::int64_t size = 0;
  for (std::size_t i = 0; i < list.intervals().size(); ++i) {
    RC_ASSERT(list.intervals()[i].size() > 0);
    RC_ASSERT((i == 0 || list.intervals()[i - 1].end != list.intervals()[i].begin));
    size += list.intervals()[i].size();
  }
  RC_ASSERT(list.size() == size);
  RC_ASSERT(list.empty() == (size == 0));
}

RC_GTEST_PROP(IntervalListLaws, SliceIsTheSliceOfTheSequence, ()) {
  const IntervalList list = *any_list();
  const std::int64_t begin = *arbitrary::integer(-3, list.size() + 3);
  const std::int64_t end = *arbitrary::integer(begin, list.size() + 6);
  const Indices all = indices(list);
  Indices wanted;
  for (std::int64_t i = std::max<std::int64_t>(begin, 0); i < std::min(end, list.size()); ++i) {
    wanted.push_back(all[static_cast<std::size_t>(i)]);
  }
  RC_ASSERT(indices(list.slice(begin, end)) == wanted);
}

RC_GTEST_PROP(IntervalListLaws, WithinKeepsTheElementsOfAGlobalRangeInLocalOrder, ()) {
  const IntervalList list = *any_list();
  const std::int64_t begin = *arbitrary::integer(0, 45);
  const std::int64_t end = *arbitrary::integer(begin, 50);
  Indices wanted = indices(list);
  wanted.erase(std::remove_if(wanted.begin(), wanted.end(), [&](std::int64_t i) { return i < begin || i >= end; }),
               wanted.end());
  RC_ASSERT(indices(list.within({begin, end})) == wanted);
}

RC_GTEST_PROP(IntervalListLaws, FindAndAtAreInverses, ()) {
  const IntervalList list = *any_list();
  for (std::int64_t local = 0; local < list.size(); ++local) RC_ASSERT(list.find(list.at(local)) == local);
  const Indices all = indices(list);
  for (std::int64_t global = -1; global < 60; ++global) {
    RC_ASSERT(list.find(global).has_value() == (std::count(all.begin(), all.end(), global) == 1));
  }
}

RC_GTEST_PROP(IntervalListLaws, IntersectIsTheSetIntersectionWithBothLocalPlaces, ()) {
  const IntervalList first = *any_list();
  const IntervalList second = *any_list();
  std::vector<Overlap> overlaps;
  const std::int64_t shared = intersect(first, second, overlaps);

  Indices wanted;
  for (std::int64_t global = 0; global < 60; ++global) {
    if (first.find(global) && second.find(global)) wanted.push_back(global);
  }
  Indices found;
  for (const Overlap& overlap : overlaps) {
    RC_ASSERT(overlap.length > 0);
    for (std::int64_t i = 0; i < overlap.length; ++i) {
      found.push_back(overlap.begin + i);
      RC_ASSERT(first.find(overlap.begin + i) == overlap.first_offset + i);
      RC_ASSERT(second.find(overlap.begin + i) == overlap.second_offset + i);
    }
  }
  RC_ASSERT(found == wanted);  // each once, ascending
  RC_ASSERT(shared == std::ssize(wanted));
}

TEST(IntervalList, IntersectKeepsWhatTheOutputHeldBefore) {
  std::vector<Overlap> overlaps = {{7, 7, 7, 7}};
  EXPECT_EQ(intersect(IntervalList({0, 4}), IntervalList({2, 9}), overlaps), 2);
  EXPECT_EQ(overlaps, (std::vector<Overlap>{{7, 7, 7, 7}, {2, 2, 2, 0}}));
}

TEST(IntervalList, PrintsItsIntervals) {
  IntervalList list({0, 2});
  list.append({5, 6});
  list.append({6, 6});
  list.append({6, 8});
  EXPECT_EQ(list.text(), "[0,2)[5,8)");
  EXPECT_EQ(IntervalList().text(), "[)");
}

}  // namespace
}  // namespace reshardcheck
