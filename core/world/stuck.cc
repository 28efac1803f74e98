// One walk over the waits: each rank waits for at most one other, so following them visits every rank once.
#include "core/world/stuck.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace reshardcheck {
namespace {

using Waits = std::span<const RankWait>;

const RankWait& wait_of(Waits waits, Rank rank) { return waits[static_cast<std::size_t>(rank)]; }

bool is_waiting(const RankWait& wait) { return wait.standing >= Standing::sending; }

/// Follows the waits from every rank; finds how each ends and the first circle, which starts at its lowest rank.
class Walk {
 public:
  explicit Walk(Waits waits) : waits_(waits), ends_(waits.size()), visit_(waits.size(), 0) {
    for (std::size_t rank = 0; rank < waits_.size(); ++rank) follow(static_cast<Rank>(rank));
  }
  [[nodiscard]] CommStatus end(Rank rank) const { return *ends_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::span<const Rank> circle() const { return circle_; }

 private:
  void follow(Rank start) {
    path_.clear();
    Rank rank = start;
    while (!ends_[index(rank)] && visit_[index(rank)] == 0 && is_waiting(wait_of(waits_, rank))) {
      visit_[index(rank)] = 1;
      path_.push_back(rank);
      rank = wait_of(waits_, rank).peer;
    }
    if (!ends_[index(rank)]) {
      if (is_waiting(wait_of(waits_, rank))) keep_circle(rank);
      const bool lost = wait_of(waits_, rank).standing == Standing::killed;
      ends_[index(rank)] = lost ? CommStatus::peer_lost : CommStatus::deadlock;
    }
    for (const Rank before : path_) ends_[index(before)] = ends_[index(rank)];
  }

  void keep_circle(Rank entry) {
    if (!circle_.empty()) return;
    circle_.assign(std::find(path_.begin(), path_.end(), entry), path_.end());
    std::rotate(circle_.begin(), std::min_element(circle_.begin(), circle_.end()), circle_.end());
  }

  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

  Waits waits_;
  std::vector<std::optional<CommStatus>> ends_;
  std::vector<char> visit_;
  std::vector<Rank> path_;
  std::vector<Rank> circle_;
};

std::string what_became_of(Waits waits, Rank peer) {
  switch (wait_of(waits, peer).standing) {
    case Standing::returned:
      return ", which has returned";
    case Standing::killed:
      return ", which was killed";
    case Standing::stalled:
      return ", which does not go on";
    default:
      return "";
  }
}

std::string clause(Waits waits, Rank rank) {
  const RankWait& wait = wait_of(waits, rank);
  const std::string end = is_waiting(wait) ? what_became_of(waits, wait.peer) : "";
  switch (wait.standing) {
    case Standing::returned:
      return fmt::format("rank {} has returned", rank);
    case Standing::killed:
      return fmt::format("rank {} was killed", rank);
    case Standing::stalled:
      return fmt::format("rank {} does not go on", rank);
    case Standing::sending:
      return fmt::format("rank {} waits for a receive on rank {}{}", rank, wait.peer, end);
    case Standing::receiving:
      return fmt::format("rank {} waits for a message from rank {}{}", rank, wait.peer, end);
    case Standing::barrier:
      return fmt::format("rank {} waits in a barrier for rank {}{}", rank, wait.peer, end);
    case Standing::broadcast:
      return fmt::format("rank {} waits in a broadcast for rank {}{}", rank, wait.peer, end);
    case Standing::allreduce:
      return fmt::format("rank {} waits in an allreduce for rank {}{}", rank, wait.peer, end);
  }
  return "";
}

/// The ranks worth naming, the most telling first: the circle, killed and stalled ranks, ranks that wait for one
/// that will never answer, the others.
std::vector<Rank> in_order_of_telling(Waits waits, std::span<const Rank> circle) {
  std::vector<Rank> order(circle.begin(), circle.end());
  std::vector<char> named(waits.size(), 0);
  for (const Rank rank : circle) named[static_cast<std::size_t>(rank)] = 1;
  const auto add_where = [&](auto&& condition) {
    for (std::size_t rank = 0; rank < waits.size(); ++rank) {
      if (named[rank] != 0 || !condition(waits[rank])) continue;
      named[rank] = 1;
      order.push_back(static_cast<Rank>(rank));
    }
  };
  add_where([](const RankWait& wait) { return wait.standing == Standing::killed; });
  add_where([](const RankWait& wait) { return wait.standing == Standing::stalled; });
  add_where([&](const RankWait& wait) { return is_waiting(wait) && !is_waiting(wait_of(waits, wait.peer)); });
  add_where([](const RankWait& wait) { return is_waiting(wait); });
  return order;
}

}  // namespace

StuckReport explain_stuck(std::span<const RankWait> waits) {
  StuckReport report;
  const Walk walk(waits);
  report.of_rank.reserve(waits.size());
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    report.of_rank.push_back(walk.end(static_cast<Rank>(rank)));
    if (report.of_rank.back() == CommStatus::peer_lost) report.status = CommStatus::peer_lost;
  }
  int named = 0;
  const std::vector<Rank> order = in_order_of_telling(waits, walk.circle());
  for (const Rank rank : order) {
    if (named == named_stuck_ranks) {
      report.text += fmt::format("; and {} more", order.size() - static_cast<std::size_t>(named));
      break;
    }
    if (named++ > 0) report.text += "; ";
    report.text += clause(waits, rank);
  }
  return report;
}

}  // namespace reshardcheck
