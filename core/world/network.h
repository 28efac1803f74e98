// Network: the messages of a simulated world, from the post to the delivery.
//
// Sends and receives of an ordered pair of ranks are matched in the order in which they were posted, and matched
// messages of a pair are delivered in that order; among pairs, chance decides. The payload is copied once, straight
// from the sender's buffer to the receiver's, at the moment of delivery: a sender that changes its buffer too early
// and a receiver that reads too early are both exposed. The faults drop, duplicate, reorder, corrupt and truncate
// happen here. The network knows no fibers; who waits for what is the scheduler's business (sim.cc).
//
// Storage is reused from run to run: a message allocates nothing once the tables have grown to the size of the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/case.h"
#include "core/plan/topology.h"
#include "core/world/sim_random.h"
#include "core/world/traffic.h"
#include "core/world/world.h"

namespace reshardcheck {

class Network {
 public:
  /// A posted operation, from its post until release(). Numbers are reused.
  using Id = std::uint32_t;
  static constexpr Id none = ~Id{0};

  enum class Kind : std::uint8_t { send, receive };

  struct Delivery {
    RankPair ranks;
    Id send = none;  // none: the message was a duplicate made by a fault
    Id receive = none;
  };

  /// Forgets the previous run. `faults` must outlive the run.
  void begin(std::span<const Fault> faults, const Topology& topology);

  Id post_send(RankPair ranks, std::span<const std::byte> message);
  Id post_receive(RankPair ranks, std::span<std::byte> buffer);

  [[nodiscard]] bool can_deliver() const { return matched_messages_ > 0; }
  /// Delivers one matched message, chosen at random among the pairs that have one. Both ends are done afterwards.
  Delivery deliver(SimRandom& random);
  /// Lets go of a message that a reorder fault holds back and that no later message came to overtake. False when
  /// there is none.
  bool let_go_of_held();

  /// The operation will not be waited for: its buffer is not touched any more, and its other end never finishes.
  void cancel(Id id);
  /// The operation is done and its status was read: the number may be used again.
  void release(Id id);

  [[nodiscard]] bool done(Id id) const { return operations_[id].state == State::done; }
  [[nodiscard]] CommStatus status(Id id) const { return operations_[id].status; }
  [[nodiscard]] Kind kind(Id id) const { return operations_[id].kind; }
  [[nodiscard]] RankPair ranks(Id id) const { return pairs_[operations_[id].pair].ranks; }

  /// Messages posted (or made by a duplicate fault) and not lost on the way that no receive has taken.
  [[nodiscard]] std::int64_t undelivered_messages() const { return undelivered_messages_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_.total(); }
  /// For bytes that collectives move.
  [[nodiscard]] TrafficCount& traffic_count() { return traffic_; }

 private:
  enum class State : std::uint8_t { open, matched, done, cancelled };
  struct Effects {  // of faults, on one message
    bool drop = false;
    bool duplicate = false;
    bool reorder = false;
    bool corrupt = false;
    bool truncate = false;
  };
  struct Operation {
    const std::byte* message = nullptr;  // of a send
    std::byte* buffer = nullptr;         // of a receive
    std::size_t bytes = 0;
    std::uint32_t pair = 0;
    Id next = none;     // in a queue of the pair, or in the list of released numbers
    Id partner = none;  // when matched
    Kind kind = Kind::send;
    State state = State::open;
    CommStatus status = CommStatus::ok;
    Effects effects;
  };
  struct Queue {
    Id first = none;
    Id last = none;
    [[nodiscard]] bool empty() const { return first == none; }
  };
  struct Pair {
    RankPair ranks;
    Queue posted;   // unmatched operations, all sends or all receives
    Queue matched;  // the sends of matched messages; cancelled ones stay until they come to the front
    Id held = none;
    std::uint32_t table_position = 0;
  };
  struct Duplicate {
    Id original = none;  // none once delivered
    Id copy = none;      // none once delivered
    std::vector<std::byte> payload;
  };

  std::uint32_t pair_index(RankPair ranks);
  [[nodiscard]] std::size_t table_position_of(RankPair ranks) const;
  void grow_table();
  Id allocate(RankPair ranks, Kind kind, std::size_t bytes);
  void push(Queue& queue, Id id);
  Id pop(Queue& queue);
  void offer(Id id);
  void match(Id send, Id receive);
  Delivery transfer(Id send, SimRandom& random);
  [[nodiscard]] Effects effects_of(std::int64_t message_number) const;
  void add_duplicate(Id original);
  void capture_duplicate(Id original);
  void cancel_duplicate(Id original);
  bool forget_duplicate(Id send);

  std::span<const Fault> faults_;
  std::vector<Operation> operations_;
  Id released_ = none;
  std::vector<Pair> pairs_;                 // in the order in which they were first used
  std::vector<std::uint32_t> table_;        // open addressing, RankPair -> index into pairs_; cleared through pairs_
  std::vector<std::uint32_t> deliverable_;  // indices of the pairs whose `matched` is not empty
  std::vector<Id> held_;
  std::vector<Duplicate> duplicates_;
  std::int64_t sent_messages_ = 0;
  std::int64_t matched_messages_ = 0;
  std::int64_t undelivered_messages_ = 0;
  TrafficCount traffic_;
};

}  // namespace reshardcheck
