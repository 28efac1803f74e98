// overlaps(): which source shard shares elements with which target shard, and where the elements lie in both.
//
// Per dim the intervals of all pieces of a side are put in one ascending list; the two lists are merged, so that
// only pieces that meet are ever looked at. A pair of shards shares elements when its pieces meet in every dim:
// for each target shard an odometer turns over the source pieces that its pieces meet.
#include <algorithm>
#include <tuple>

#include "core/plan/planner.h"

namespace reshardcheck {
namespace {

/// An interval of a piece, with the local offset at which it starts.
struct PlacedInterval {
  Interval interval;
  std::int64_t offset = 0;
  std::uint32_t piece = 0;
};

/// The intervals of all pieces of a dim, ascending.
std::vector<PlacedInterval> placed_intervals(std::span<const DimPiece> pieces) {
  std::vector<PlacedInterval> placed;
  placed.reserve(pieces.size());
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    std::int64_t offset = 0;
    for (const Interval& interval : pieces[piece].owned.intervals()) {
      placed.push_back({interval, offset, static_cast<std::uint32_t>(piece)});
      offset += interval.size();
    }
  }
  const auto earlier = [](const PlacedInterval& a, const PlacedInterval& b) {
    return a.interval.begin < b.interval.begin;
  };
  if (!std::is_sorted(placed.begin(), placed.end(), earlier)) std::sort(placed.begin(), placed.end(), earlier);
  return placed;
}

/// A run that a source piece and a target piece share.
struct SharedRun {
  std::uint32_t target_piece = 0;
  std::uint32_t source_piece = 0;
  Run run;

  [[nodiscard]] auto order() const { return std::tuple(target_piece, source_piece, run.begin); }
};

/// Every run that two pieces of a dim share, by target piece, then source piece, then ascending.
std::vector<SharedRun> shared_runs(std::span<const DimPiece> source_pieces, std::span<const DimPiece> target_pieces) {
  const std::vector<PlacedInterval> source = placed_intervals(source_pieces);
  const std::vector<PlacedInterval> target = placed_intervals(target_pieces);
  std::vector<SharedRun> shared;
  shared.reserve(source.size() + target.size());
  for (std::size_t i = 0, j = 0; i < source.size() && j < target.size();) {
    const Interval from = source[i].interval;
    const Interval to = target[j].interval;
    const std::int64_t begin = std::max(from.begin, to.begin);
    const std::int64_t end = std::min(from.end, to.end);
    if (begin < end) {
      shared.push_back(
          {target[j].piece,
           source[i].piece,
           {begin, end - begin, source[i].offset + begin - from.begin, target[j].offset + begin - to.begin}});
    }
    (from.end < to.end ? i : j) += 1;  // what ends first can meet nothing further on
  }
  const auto earlier = [](const SharedRun& a, const SharedRun& b) { return a.order() < b.order(); };
  if (!std::is_sorted(shared.begin(), shared.end(), earlier)) std::sort(shared.begin(), shared.end(), earlier);
  return shared;
}

/// A source piece that a target piece meets in one dim.
struct Meeting {
  std::uint32_t source_piece = 0;
  RunRange runs;
  std::int64_t elements = 0;
};

/// The meetings of one dim, by target piece.
struct DimMeetings {
  std::vector<Meeting> meetings;
  std::vector<std::uint32_t> first;  // by target piece, one more than pieces

  [[nodiscard]] std::span<const Meeting> of(std::size_t target_piece) const {
    return std::span<const Meeting>(meetings).subspan(first[target_piece],
                                                      first[target_piece + 1] - first[target_piece]);
  }
};

/// The meetings of a dim; appends their runs to `runs`.
DimMeetings meetings_of(const Layout& source, const Layout& target, std::size_t dim, std::vector<Run>& runs) {
  const std::vector<SharedRun> shared = shared_runs(source.pieces(dim), target.pieces(dim));
  DimMeetings result;
  result.meetings.reserve(shared.size());
  result.first.assign(target.pieces(dim).size() + 1, 0);
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const bool same_pair = i > 0 && shared[i].target_piece == shared[i - 1].target_piece &&
                           shared[i].source_piece == shared[i - 1].source_piece;
    if (!same_pair) {
      result.meetings.push_back({shared[i].source_piece, {static_cast<std::uint32_t>(runs.size()), 0}, 0});
      ++result.first[shared[i].target_piece + 1];
    }
    result.meetings.back().runs.count += 1;
    result.meetings.back().elements += shared[i].run.length;
    runs.push_back(shared[i].run);
  }
  for (std::size_t i = 1; i < result.first.size(); ++i) result.first[i] += result.first[i - 1];
  return result;
}

/// Turns over every choice of one meeting per dim, last dim fastest, and appends the overlap each choice makes.
class Odometer {
 public:
  Odometer(const Layout& source, const Layout& target, std::vector<Run>& runs) : target_(target) {
    std::size_t stride = source.shards();
    for (std::size_t dim = 0; dim < source.dims(); ++dim) {
      dims_[dim] = meetings_of(source, target, dim, runs);
      stride /= source.pieces(dim).size();
      shard_stride_[dim] = static_cast<std::uint32_t>(stride);
    }
  }

  /// How many overlaps there are: every choice of one meeting per dim belongs to one pair of shards.
  [[nodiscard]] std::size_t count() const {
    std::size_t result = 1;
    for (std::size_t dim = 0; dim < target_.dims(); ++dim) result *= dims_[dim].meetings.size();
    return result;
  }

  void visit(std::size_t target_shard, std::vector<ShardOverlap>& out) {
    for (std::size_t dim = 0; dim < target_.dims(); ++dim) {
      choices_[dim] = dims_[dim].of(target_.shard_piece_index(target_shard, dim));
      if (choices_[dim].empty()) return;
      chosen_[dim] = 0;
    }
    do {
      out.push_back(overlap(target_shard));
    } while (turn());
  }

 private:
  [[nodiscard]] ShardOverlap overlap(std::size_t target_shard) const {
    ShardOverlap result;
    result.target_shard = static_cast<std::uint32_t>(target_shard);
    result.box.elements = 1;
    for (std::size_t dim = 0; dim < target_.dims(); ++dim) {
      const Meeting& meeting = choices_[dim][chosen_[dim]];
      result.source_shard += meeting.source_piece * shard_stride_[dim];
      result.box.dims[dim] = meeting.runs;
      result.box.elements *= meeting.elements;
    }
    return result;
  }

  bool turn() {
    for (std::size_t dim = target_.dims(); dim-- > 0;) {
      if (++chosen_[dim] < choices_[dim].size()) return true;
      chosen_[dim] = 0;
    }
    return false;
  }

  const Layout& target_;
  std::array<DimMeetings, limits::max_dims> dims_;
  std::array<std::uint32_t, limits::max_dims> shard_stride_{};
  std::array<std::span<const Meeting>, limits::max_dims> choices_;
  std::array<std::size_t, limits::max_dims> chosen_{};
};

}  // namespace

std::vector<ShardOverlap> overlaps(const Layout& source, const Layout& target, std::vector<Run>& runs) {
  RESHARDCHECK_CHECK(source.shape() == target.shape());
  std::vector<ShardOverlap> result;
  Odometer odometer(source, target, runs);
  result.reserve(odometer.count());
  for (std::size_t shard = 0; shard < target.shards(); ++shard) odometer.visit(shard, result);
  return result;
}

}  // namespace reshardcheck
