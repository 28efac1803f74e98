// The scheduler of the simulated world: ranks as fibers, the choice of the next event, and the end of hopeless waits.
//
// Between events the scheduler's own stack runs; a rank's fiber runs until it has to wait. Messages live in the
// Network, collectives in Collective, and the words for a deadlock in stuck.
#include "core/world/sim.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/layout/limits.h"
#include "core/layout/result.h"
#include "core/world/collective.h"
#include "core/world/fiber.h"
#include "core/world/network.h"
#include "core/world/requests.h"
#include "core/world/sim_random.h"
#include "core/world/stuck.h"

namespace reshardcheck {

class SimWorld::Implementation {
 public:
  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic);

 private:
  class Participant;

  void begin(const RunOptions& options, const RankBody& body);
  bool step();
  void run_one_rank();
  void deliver_one_message();
  void end_waits();
  [[nodiscard]] std::vector<RankWait> waits() const;
  WorldOutcome outcome();

  void make_ready(Rank rank) { ready_.push_back(rank); }
  void make_suspended_ready();
  void complete_collective();
  [[nodiscard]] Participant& participant(Rank rank) const { return *participants_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Rank last_rank() const { return static_cast<Rank>(world_ranks_) - 1; }

  const RunOptions* options_ = nullptr;
  const RankBody* body_ = nullptr;
  bool running_ = false;
  bool rank_faults_ = false;
  bool hopeless_ = false;  // open waits have been ended; every operation fails
  bool any_killed_ = false;
  std::size_t delivery_sixteenths_ = 8;
  std::size_t finished_ranks_ = 0;
  StuckReport stuck_;
  std::exception_ptr escaped_;
  SimRandom random_;
  Network network_;
  Collective collective_;
  std::vector<std::unique_ptr<Participant>> participants_;  // by rank; more than this run has, after a larger one
  std::size_t world_ranks_ = 0;
  std::vector<Rank> ready_;
  FiberPool fibers_;
};

/// One rank: the endpoint that its body sees, and where it stands.
class SimWorld::Implementation::Participant final : public Endpoint {
 public:
  Participant(Implementation& world, Rank rank) : world_(world), rank_(rank) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank world_ranks() const override { return static_cast<Rank>(world_.world_ranks_); }

  Request post_send(Rank to, std::span<const std::byte> message) override {
    if (const CommStatus status = enter(to); status != CommStatus::ok) return requests_.keep({Network::none, status});
    return requests_.keep({world_.network_.post_send({.from = rank_, .to = to}, message), CommStatus::ok});
  }

  Request post_receive(Rank from, std::span<std::byte> buffer) override {
    if (const CommStatus status = enter(from); status != CommStatus::ok) return requests_.keep({Network::none, status});
    return requests_.keep({world_.network_.post_receive({.from = from, .to = rank_}, buffer), CommStatus::ok});
  }

  CommStatus wait(Request request) override;
  CommStatus barrier() override { return join({.kind = CollectiveKind::barrier}); }
  CommStatus broadcast(Rank root, std::span<std::byte> buffer) override {
    return join({.kind = CollectiveKind::broadcast, .root = root, .buffer = buffer});
  }
  CommStatus allreduce(std::span<std::uint64_t> values, Reduction reduction) override {
    return join({.kind = CollectiveKind::allreduce, .reduction = reduction, .values = values});
  }

  void begin();
  /// Starts the body or goes on with it, until it waits or returns.
  void go_on();
  [[nodiscard]] bool finished() const { return state_ == State::finished; }
  [[nodiscard]] bool killed() const { return killed_; }
  [[nodiscard]] bool waits_for(Network::Id operation) const { return waiting_for_ == operation; }
  [[nodiscard]] bool suspended() const { return state_ == State::suspended; }
  /// Except in a collective, which only the world can tell.
  [[nodiscard]] RankWait standing() const;

 private:
  enum class State : std::uint8_t { fresh, running, suspended, finished };
  /// A request that has not been waited for. Without an operation its status was known at the post.
  struct Open {
    Network::Id operation = Network::none;
    CommStatus status = CommStatus::ok;
  };

  static void run_body(void* participant);
  CommStatus enter(Rank peer);
  CommStatus rank_fault(std::int64_t call);
  CommStatus join(const CollectiveEntry& entry);
  void suspend();
  void cancel_all();

  Implementation& world_;
  Rank rank_;
  State state_ = State::fresh;
  bool killed_ = false;
  bool stalled_ = false;
  std::int64_t calls_ = 0;
  Network::Id waiting_for_ = Network::none;
  Requests<Open> requests_;
  std::unique_ptr<Fiber> fiber_;
};

// ---- A rank ----------------------------------------------------------------------------------------------------

void SimWorld::Implementation::Participant::begin() {
  state_ = State::fresh;
  killed_ = false;
  stalled_ = false;
  calls_ = 0;
  waiting_for_ = Network::none;
  requests_.begin();
}

void SimWorld::Implementation::Participant::go_on() {
  const bool fresh = state_ == State::fresh;
  state_ = State::running;
  try {
    if (fresh) fiber_ = world_.fibers_.take();
  } catch (const std::bad_alloc&) {  // no memory for another stack: the rank ends before it began
    if (!world_.escaped_) world_.escaped_ = std::current_exception();
    state_ = State::finished;
    return;
  }
  if (fresh) {
    fiber_->start(&Participant::run_body, this);
  } else {
    fiber_->resume();
  }
  if (!fiber_->idle()) return;
  state_ = State::finished;
  cancel_all();
  world_.fibers_.give_back(std::move(fiber_));
}

void SimWorld::Implementation::Participant::run_body(void* participant) {
  auto& self = *static_cast<Participant*>(participant);
  try {
    (*self.world_.body_)(self);
  } catch (...) {
    if (!self.world_.escaped_) self.world_.escaped_ = std::current_exception();
  }
}

void SimWorld::Implementation::Participant::suspend() {
  state_ = State::suspended;
  fiber_->suspend();
}

/// Every operation begins here: it is counted, faults strike, and what makes it fail at once is found.
CommStatus SimWorld::Implementation::Participant::enter(Rank peer) {
  const std::int64_t call = calls_++;
  if (killed_) return CommStatus::killed;
  if (world_.rank_faults_) {
    if (const CommStatus status = rank_fault(call); status != CommStatus::ok) return status;
  }
  if (world_.hopeless_) return world_.stuck_.of_rank[static_cast<std::size_t>(rank_)];
  if (peer < 0 || static_cast<std::size_t>(peer) >= world_.world_ranks_) return CommStatus::bad_argument;
  return CommStatus::ok;
}

CommStatus SimWorld::Implementation::Participant::rank_fault(std::int64_t call) {
  for (const Fault& fault : world_.options_->faults) {
    if (fault.at != rank_ || fault.call != call) continue;
    if (fault.kind == FaultKind::kill) {
      killed_ = true;
      world_.any_killed_ = true;
      cancel_all();
      return CommStatus::killed;
    }
    if (fault.kind == FaultKind::stall && !world_.hopeless_) {
      stalled_ = true;
      suspend();
    }
  }
  return CommStatus::ok;
}

CommStatus SimWorld::Implementation::Participant::wait(Request request) {
  const CommStatus entered = enter(rank_);
  if (entered == CommStatus::killed) return entered;
  const std::optional<Open> open = requests_.take(request);
  if (!open) return CommStatus::bad_argument;
  const Network::Id operation = open->operation;
  if (operation == Network::none) return open->status;
  Network& network = world_.network_;
  if (!network.done(operation) && !world_.hopeless_) {
    waiting_for_ = operation;
    suspend();
    waiting_for_ = Network::none;
  }
  if (network.done(operation)) {
    const CommStatus status = network.status(operation);
    network.release(operation);
    return status;
  }
  network.cancel(operation);
  return world_.stuck_.of_rank[static_cast<std::size_t>(rank_)];
}

CommStatus SimWorld::Implementation::Participant::join(const CollectiveEntry& entry) {
  if (const CommStatus status = enter(entry.root); status != CommStatus::ok) return status;
  Collective& collective = world_.collective_;
  collective.join(rank_, entry);
  if (collective.can_complete()) {
    world_.complete_collective();
  } else {
    suspend();
  }
  if (world_.hopeless_) return world_.stuck_.of_rank[static_cast<std::size_t>(rank_)];
  return collective.entry(rank_).status;
}

void SimWorld::Implementation::Participant::cancel_all() {
  requests_.take_all([this](const Open& open) {
    if (open.operation != Network::none) world_.network_.cancel(open.operation);
  });
}

RankWait SimWorld::Implementation::Participant::standing() const {
  if (killed_) return {.standing = Standing::killed};
  if (finished()) return {.standing = Standing::returned};
  if (waiting_for_ == Network::none) return {.standing = Standing::stalled};
  const RankPair ranks = world_.network_.ranks(waiting_for_);
  if (world_.network_.kind(waiting_for_) == Network::Kind::send) return {Standing::sending, ranks.to};
  return {Standing::receiving, ranks.from};
}

// ---- The run ---------------------------------------------------------------------------------------------------

WorldOutcome SimWorld::Implementation::run(const RunOptions& options, const RankBody& body, Traffic& traffic) {
  RESHARDCHECK_CHECK(!running_);
  running_ = true;
  begin(options, body);
  while (step()) {
  }
  running_ = false;
  traffic = network_.traffic();
  if (escaped_) std::rethrow_exception(std::exchange(escaped_, nullptr));
  return outcome();
}

void SimWorld::Implementation::begin(const RunOptions& options, const RankBody& body) {
  options_ = &options;
  body_ = &body;
  world_ranks_ = static_cast<std::size_t>(options.world_ranks);
  rank_faults_ = false;
  for (const Fault& fault : options.faults) {
    rank_faults_ = rank_faults_ || fault.kind == FaultKind::kill || fault.kind == FaultKind::stall;
  }
  hopeless_ = false;
  any_killed_ = false;
  finished_ranks_ = 0;
  escaped_ = nullptr;
  random_ = SimRandom(options.seed);
  // From a network that delivers nearly at once to one that delivers nearly only when no rank can run.
  delivery_sixteenths_ = 1 + random_.below(15);
  network_.begin(options.faults, options.topology);
  collective_.begin(options.world_ranks);
  ready_.clear();
  for (Rank rank = 0; rank <= last_rank(); ++rank) {
    if (static_cast<std::size_t>(rank) == participants_.size()) {
      participants_.push_back(std::make_unique<Participant>(*this, rank));
    }
    participant(rank).begin();
    make_ready(rank);
  }
}

/// One event; false when all ranks have returned.
bool SimWorld::Implementation::step() {
  const bool can_deliver = network_.can_deliver();
  if (!ready_.empty() && can_deliver) {
    if (random_.below(16) < delivery_sixteenths_) {
      deliver_one_message();
    } else {
      run_one_rank();
    }
  } else if (!ready_.empty()) {
    run_one_rank();
  } else if (finished_ranks_ == world_ranks_) {
    return false;
  } else if (can_deliver) {
    deliver_one_message();
  } else if (!network_.let_go_of_held()) {
    end_waits();
  }
  return true;
}

void SimWorld::Implementation::run_one_rank() {
  const std::size_t chosen = random_.below(ready_.size());
  const Rank rank = ready_[chosen];
  ready_[chosen] = ready_.back();
  ready_.pop_back();
  participant(rank).go_on();
  if (participant(rank).finished()) ++finished_ranks_;
}

void SimWorld::Implementation::deliver_one_message() {
  const auto [ranks, send, receive] = network_.deliver(random_);
  if (send != Network::none && participant(ranks.from).waits_for(send)) make_ready(ranks.from);
  if (participant(ranks.to).waits_for(receive)) make_ready(ranks.to);
}

void SimWorld::Implementation::make_suspended_ready() {
  for (Rank rank = 0; rank <= last_rank(); ++rank) {
    if (participant(rank).suspended()) make_ready(rank);
  }
}

/// Called by the last rank that joined, which goes on; all the others wait in the collective.
void SimWorld::Implementation::complete_collective() {
  collective_.complete(network_.traffic_count());
  make_suspended_ready();
}

/// Nothing goes on: finds out why, and lets every rank that waits see its wait fail.
void SimWorld::Implementation::end_waits() {
  RESHARDCHECK_CHECK(!hopeless_);
  stuck_ = explain_stuck(waits());
  hopeless_ = true;
  make_suspended_ready();
}

std::vector<RankWait> SimWorld::Implementation::waits() const {
  std::vector<RankWait> waits;
  waits.reserve(world_ranks_);
  for (Rank rank = 0; rank <= last_rank(); ++rank) waits.push_back(participant(rank).standing());
  collective_.point_waits(waits);
  return waits;
}

WorldOutcome SimWorld::Implementation::outcome() {
  WorldOutcome outcome;
  outcome.unreceived_messages = network_.undelivered_messages();
  if (hopeless_) {
    outcome.status = stuck_.status;
    outcome.stuck = std::move(stuck_.text);
  } else if (any_killed_) {  // and nobody waited for it
    outcome.status = CommStatus::peer_lost;
    outcome.stuck = explain_stuck(waits()).text;
  }
  return outcome;
}

SimWorld::SimWorld() : implementation_(std::make_unique<Implementation>()) {}
SimWorld::~SimWorld() = default;

std::optional<std::string> SimWorld::unsupported(const RunOptions& options) const {
  if (options.world_ranks >= 0 && options.world_ranks <= limits::max_ranks) return std::nullopt;
  return fmt::format("the sim world holds 0 to {} ranks, not {}", limits::max_ranks, options.world_ranks);
}

WorldOutcome SimWorld::run(const RunOptions& options, const RankBody& body, Traffic& traffic) {
  RESHARDCHECK_CHECK(!unsupported(options));
  return implementation_->run(options, body, traffic);
}

bool SimWorld::renew() {
  implementation_ = std::make_unique<Implementation>();
  return true;
}

std::int64_t SimWorld::stack_bytes_per_rank() { return static_cast<std::int64_t>(Fiber::stack_bytes()); }

}  // namespace reshardcheck
