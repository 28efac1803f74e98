// The work list behind find_cyclic_wait(). A node is a (rank, step) pair; each message makes its two nodes wait for
// the other's rank to come to the other's step.
#include "core/plan/progress.h"

#include <algorithm>

namespace reshardcheck {
namespace {

class Simulation {
 public:
  Simulation(const Plan& plan, std::span<const std::uint32_t> messages, std::int64_t world_ranks)
      : ranks_(static_cast<std::size_t>(world_ranks)) {
    for (const std::uint32_t message : messages) {
      const Transfer& transfer = plan.transfers[message];
      steps_ = std::max<std::size_t>({steps_, transfer.send_step + 1U, transfer.receive_step + 1U});
    }
    index_peers(plan, messages);
  }

  void run() {
    reached_.assign(ranks_, 0);
    std::vector<std::size_t> entered;  // a work list; every node enters at most once
    for (std::size_t rank = 0; rank < ranks_; ++rank) entered.push_back(rank * steps_);
    for (std::size_t next = 0; next < entered.size(); ++next) {
      for (const std::size_t peer : peers(entered[next])) {
        --open_[peer];
        advance(peer, entered);
      }
      advance(entered[next], entered);
    }
  }

  /// The circle that a rank which is not at its end leads to, or nothing when all are.
  [[nodiscard]] std::optional<std::vector<StepWait>> circle() const {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (reached_[rank] < steps_) return follow(rank);
    }
    return std::nullopt;
  }

 private:
  void index_peers(const Plan& plan, std::span<const std::uint32_t> messages) {
    first_.assign(ranks_ * steps_ + 1, 0);
    const auto ends = [&](std::uint32_t message) {
      const Transfer& transfer = plan.transfers[message];
      return std::pair(static_cast<std::size_t>(transfer.from) * steps_ + transfer.send_step,
                       static_cast<std::size_t>(transfer.to) * steps_ + transfer.receive_step);
    };
    for (const std::uint32_t message : messages) {
      const auto [send, receive] = ends(message);
      ++first_[send + 1];
      ++first_[receive + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    peers_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (const std::uint32_t message : messages) {
      const auto [send, receive] = ends(message);
      peers_[next[send]++] = receive;
      peers_[next[receive]++] = send;
    }
    open_.resize(ranks_ * steps_);
    for (std::size_t node = 0; node < open_.size(); ++node) open_[node] = first_[node + 1] - first_[node];
  }

  [[nodiscard]] std::span<const std::size_t> peers(std::size_t node) const {
    return std::span(peers_).subspan(first_[node], first_[node + 1] - first_[node]);
  }

  /// Takes the rank of a node on to its next step when it is at this one and nothing is left to wait for.
  void advance(std::size_t node, std::vector<std::size_t>& entered) {
    const std::size_t rank = node / steps_;
    if (reached_[rank] != node % steps_ || open_[node] > 0) return;
    if (++reached_[rank] < steps_) entered.push_back(node + 1);
  }

  /// The first wait of a stuck rank. Its peer is stuck in an earlier step than the one waited for.
  [[nodiscard]] StepWait wait_of(std::size_t rank) const {
    for (const std::size_t peer : peers(rank * steps_ + reached_[rank])) {
      if (reached_[peer / steps_] >= peer % steps_) continue;
      return {static_cast<Rank>(rank), static_cast<int>(reached_[rank]), static_cast<Rank>(peer / steps_),
              static_cast<int>(peer % steps_)};
    }
    RESHARDCHECK_CHECK(false && "a stuck rank waits for someone");
  }

  [[nodiscard]] std::vector<StepWait> follow(std::size_t rank) const {
    std::vector<StepWait> path;
    std::vector<std::size_t> place(ranks_, ranks_);  // in the path, by rank
    while (place[rank] == ranks_) {
      place[rank] = path.size();
      path.push_back(wait_of(rank));
      rank = static_cast<std::size_t>(path.back().peer);
    }
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(place[rank]));
    return path;
  }

  std::size_t ranks_;
  std::size_t steps_ = 1;
  std::vector<std::size_t> first_;    // by node, one more than nodes
  std::vector<std::size_t> peers_;    // by node: the nodes at the other ends of its messages
  std::vector<std::size_t> open_;     // by node: messages whose other end has not been posted
  std::vector<std::size_t> reached_;  // by rank: the step it is in; steps_ when it has finished
};

}  // namespace

std::optional<std::vector<StepWait>> find_cyclic_wait(const Plan& plan, std::span<const std::uint32_t> messages,
                                                      std::int64_t world_ranks) {
  Simulation simulation(plan, messages, world_ranks);
  simulation.run();
  return simulation.circle();
}

}  // namespace reshardcheck
