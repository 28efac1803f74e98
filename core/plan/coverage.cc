// Exactly-once coverage. The grid test is the fast path of right plans; the searches behind it find witnesses by a
// sweep per dim: cut the dim at every boundary, and between two cuts only the boxes that lie across matter.
#include "core/plan/coverage.h"

#include <algorithm>

namespace reshardcheck {
namespace {

/// The first elements that two ascending lists share.
std::optional<Interval> first_shared(std::span<const Interval> a, std::span<const Interval> b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval shared{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (shared.begin < shared.end) return shared;
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return std::nullopt;
}

std::optional<Brick> shared_brick(const Part& a, const Part& b) {
  Brick where;
  for (std::size_t dim = 0; dim < a.size(); ++dim) {
    const std::optional<Interval> shared = first_shared(a[dim].intervals, b[dim].intervals);
    if (!shared) return std::nullopt;
    where.push_back(*shared);
  }
  return where;
}

/// The search for elements of a part that no box holds, dim by dim.
class MissingSearch {
 public:
  MissingSearch(const BoxTable& boxes, const Part& part, BoxSet set)
      : boxes_(boxes), part_(part), set_(set), where_(part.size()) {
    rest_elements_.assign(part.size() + 1, 1);
    for (std::size_t dim = part.size(); dim-- > 0;) {
      rest_elements_[dim] = rest_elements_[dim + 1] * part[dim].elements;
    }
  }

  /// Is there a missing element in the dims from `dim` on, where only `active` boxes reach? Then where() has it.
  bool find(std::size_t dim, const std::vector<std::uint32_t>& active) {
    if (active.empty()) {
      for (std::size_t later = dim; later < part_.size(); ++later) where_[later] = part_[later].intervals.front();
      return true;
    }
    if (dim == part_.size()) return false;
    return sweep(dim, active);
  }

  [[nodiscard]] const Brick& where() const { return where_; }

 private:
  struct Event {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t box = 0;
  };

  /// Every interval of the active boxes in this dim, ascending by where it begins.
  [[nodiscard]] std::vector<Event> events(std::size_t dim, const std::vector<std::uint32_t>& active) const {
    std::vector<Event> result;
    for (const std::uint32_t box : active) {
      for (const Interval& interval : boxes_.dim_part(dim, boxes_.range(box, dim)).intervals) {
        result.push_back({interval.begin, interval.end, box});
      }
    }
    std::sort(result.begin(), result.end(), [](const Event& a, const Event& b) { return a.begin < b.begin; });
    return result;
  }

  bool sweep(std::size_t dim, const std::vector<std::uint32_t>& active) {
    const std::vector<Event> all = events(dim, active);
    std::vector<std::int64_t> cuts;
    for (const Event& event : all) cuts.insert(cuts.end(), {event.begin, event.end});
    std::sort(cuts.begin(), cuts.end());
    std::vector<Event> open;
    std::size_t next_event = 0;
    std::size_t next_cut = 0;
    for (const Interval& wanted : part_[dim].intervals) {
      for (std::int64_t begin = wanted.begin; begin < wanted.end;) {
        while (next_cut < cuts.size() && cuts[next_cut] <= begin) ++next_cut;
        const std::int64_t end = next_cut < cuts.size() ? std::min(cuts[next_cut], wanted.end) : wanted.end;
        while (next_event < all.size() && all[next_event].begin <= begin) open.push_back(all[next_event++]);
        std::erase_if(open, [begin](const Event& event) { return event.end <= begin; });
        where_[dim] = {begin, end};
        if (missing_between_cuts(dim, open)) return true;
        begin = end;
      }
    }
    return false;
  }

  bool missing_between_cuts(std::size_t dim, const std::vector<Event>& open) {
    visits_ += std::ssize(open) + 1;
    if (visits_ > Coverage::max_visits) return false;
    std::vector<std::uint32_t> active;
    std::int64_t held_elements = 0;
    for (const Event& event : open) {
      if (covers_rest(dim + 1, event.box)) return false;
      active.push_back(event.box);
      held_elements += elements_of_rest(dim + 1, event.box);
    }
    if (set_ == BoxSet::disjoint_inside && held_elements == rest_elements_[dim + 1]) return false;
    return find(dim + 1, active);
  }

  [[nodiscard]] bool covers_rest(std::size_t dim, std::uint32_t box) const {
    for (; dim < part_.size(); ++dim) {
      const std::span<const Interval> held = boxes_.dim_part(dim, boxes_.range(box, dim)).intervals;
      if (!std::equal(held.begin(), held.end(), part_[dim].intervals.begin(), part_[dim].intervals.end())) return false;
    }
    return true;
  }

  [[nodiscard]] std::int64_t elements_of_rest(std::size_t dim, std::uint32_t box) const {
    std::int64_t count = 1;
    for (; dim < part_.size(); ++dim) count *= boxes_.dim_part(dim, boxes_.range(box, dim)).elements;
    return count;
  }

  const BoxTable& boxes_;
  const Part& part_;
  BoxSet set_;
  Brick where_;
  std::vector<std::int64_t> rest_elements_;
  std::int64_t visits_ = 0;
};

}  // namespace

Coverage::Coverage(const BoxTable& boxes) : boxes_(boxes) {
  for (std::size_t dim = 0; dim < boxes.dims(); ++dim) {
    marks_[dim].resize(boxes.ranges(dim));
    known_disjoint_[dim].resize(boxes.ranges(dim));
  }
}

bool Coverage::covers_as_grid(const Part& part, std::span<const std::uint32_t> boxes) {
  if (boxes.empty()) return elements(part) == 0;
  ++epoch_;
  cells_.assign(boxes.size(), 0);
  std::size_t cells = 1;
  for (std::size_t dim = 0; dim < boxes_.dims(); ++dim) {
    distinct_.clear();
    for (const std::uint32_t box : boxes) {
      const std::uint32_t range = boxes_.range(box, dim);
      if (marks_[dim][range].epoch == epoch_) continue;
      marks_[dim][range] = {epoch_, static_cast<std::uint32_t>(distinct_.size())};
      distinct_.push_back(range);
    }
    std::int64_t covered = 0;
    for (const std::uint32_t range : distinct_) covered += boxes_.dim_part(dim, range).elements;
    if (covered != part[dim].elements || !disjoint(dim, distinct_)) return false;
    cells *= distinct_.size();
    if (cells > boxes.size()) return false;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      cells_[i] = cells_[i] * distinct_.size() + marks_[dim][boxes_.range(boxes[i], dim)].place;
    }
  }
  if (cells != boxes.size()) return false;
  filled_.assign(cells, false);
  for (const std::size_t cell : cells_) {
    if (filled_[cell]) return false;
    filled_[cell] = true;
  }
  return true;
}

bool Coverage::disjoint(std::size_t dim, const std::vector<std::uint32_t>& ranges) {
  if (ranges.size() == 1) return true;
  std::vector<std::uint32_t>& known = known_disjoint_[dim][ranges.front()];
  if (known == ranges) return true;
  sorted_.clear();
  for (const std::uint32_t range : ranges) {
    const std::span<const Interval> intervals = boxes_.dim_part(dim, range).intervals;
    sorted_.insert(sorted_.end(), intervals.begin(), intervals.end());
  }
  std::sort(sorted_.begin(), sorted_.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < sorted_.size(); ++i) {
    if (sorted_[i - 1].end > sorted_[i].begin) return false;
  }
  known = ranges;
  return true;
}

std::optional<BoxClash> Coverage::find_overlap(std::span<const std::uint32_t> boxes) const {
  if (boxes_.dims() == 0) {
    if (boxes.size() < 2) return std::nullopt;
    return BoxClash{0, 1, {}};
  }
  // In the order in which boxes begin in the first dim, a box can only meet those that begin before it ends.
  const auto reach = [&](std::size_t position) {
    const std::span<const Interval> intervals = boxes_.dim_part(0, boxes_.range(boxes[position], 0)).intervals;
    return Interval{intervals.front().begin, intervals.back().end};
  };
  std::vector<std::size_t> order(boxes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return reach(a).begin < reach(b).begin; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Part part = boxes_.part(boxes[order[i]]);
    const std::int64_t end = reach(order[i]).end;
    for (std::size_t j = i + 1; j < order.size() && reach(order[j]).begin < end; ++j) {
      std::optional<Brick> where = shared_brick(part, boxes_.part(boxes[order[j]]));
      if (where) return BoxClash{std::min(order[i], order[j]), std::max(order[i], order[j]), std::move(*where)};
    }
  }
  return std::nullopt;
}

std::optional<Brick> Coverage::find_missing(const Part& part, std::span<const std::uint32_t> boxes, BoxSet set) const {
  if (elements(part) == 0) return std::nullopt;
  MissingSearch search(boxes_, part, set);
  if (!search.find(0, {boxes.begin(), boxes.end()})) return std::nullopt;
  return search.where();
}

}  // namespace reshardcheck
