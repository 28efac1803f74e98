// Matching and delivery. Queues are threaded through the operations, pairs are found in a hash table that knows
// only the pairs in use, so the cost of a run follows its messages and not the square of its ranks.
#include "core/world/network.h"

#include <algorithm>
#include <cstring>

#include "core/layout/result.h"

namespace reshardcheck {
namespace {

constexpr std::uint32_t empty = ~std::uint32_t{0};
constexpr std::size_t smallest_table = 256;
constexpr std::size_t kept_entries = std::size_t{1} << 20;  // what a huge run grew beyond this is given back

template <typename T>
void clear_bounded(std::vector<T>& entries) {
  if (entries.capacity() > kept_entries) {
    std::vector<T>().swap(entries);
  } else {
    entries.clear();
  }
}

}  // namespace

void Network::begin(std::span<const Fault> faults, const Topology& topology) {
  faults_ = faults;
  traffic_.begin(topology);
  if (table_.size() > kept_entries) {
    std::vector<std::uint32_t>().swap(table_);
  } else {
    for (const Pair& pair : pairs_) table_[pair.table_position] = empty;
  }
  clear_bounded(pairs_);
  clear_bounded(operations_);
  clear_bounded(deliverable_);
  released_ = none;
  held_.clear();
  duplicates_.clear();
  sent_messages_ = 0;
  matched_messages_ = 0;
  undelivered_messages_ = 0;
}

Network::Id Network::post_send(RankPair ranks, std::span<const std::byte> message) {
  const Id id = allocate(ranks, Kind::send, message.size());
  operations_[id].message = message.data();
  const Effects effects = faults_.empty() ? Effects{} : effects_of(sent_messages_);
  ++sent_messages_;
  if (effects.drop) {  // the sender cannot tell
    operations_[id].state = State::done;
    return id;
  }
  operations_[id].effects = effects;
  ++undelivered_messages_;
  const std::uint32_t pair = operations_[id].pair;
  const Id overtaken = pairs_[pair].held;
  if (effects.reorder && overtaken == none) {
    pairs_[pair].held = id;
    held_.push_back(id);
    return id;
  }
  offer(id);
  if (effects.duplicate) add_duplicate(id);
  if (overtaken != none) {
    pairs_[pair].held = none;
    std::erase(held_, overtaken);
    if (operations_[overtaken].state == State::open) {
      offer(overtaken);
      if (operations_[overtaken].effects.duplicate) add_duplicate(overtaken);
    }
  }
  return id;
}

Network::Id Network::post_receive(RankPair ranks, std::span<std::byte> buffer) {
  const Id id = allocate(ranks, Kind::receive, buffer.size());
  operations_[id].buffer = buffer.data();
  offer(id);
  return id;
}

Network::Delivery Network::deliver(SimRandom& random) {
  RESHARDCHECK_CHECK(can_deliver());
  // Every turn but the last takes a cancelled message out of its queue, so the loop ends.
  while (true) {
    const std::size_t chosen = random.below(deliverable_.size());
    Pair& pair = pairs_[deliverable_[chosen]];
    const Id send = pop(pair.matched);
    if (pair.matched.empty()) {
      deliverable_[chosen] = deliverable_.back();
      deliverable_.pop_back();
    }
    if (operations_[send].state == State::matched) return transfer(send, random);
  }
}

bool Network::let_go_of_held() {
  while (!held_.empty()) {
    const Id id = held_.front();
    held_.erase(held_.begin());
    pairs_[operations_[id].pair].held = none;
    if (operations_[id].state != State::open) continue;
    offer(id);
    if (operations_[id].effects.duplicate) add_duplicate(id);
    return true;
  }
  return false;
}

void Network::cancel(Id id) {
  Operation& operation = operations_[id];
  if (operation.state == State::done || operation.state == State::cancelled) return;
  if (operation.state == State::matched) {
    operations_[operation.partner].state = State::open;
    operations_[operation.partner].partner = none;
    --matched_messages_;
  }
  operation.state = State::cancelled;
  if (operation.effects.duplicate) cancel_duplicate(id);
}

void Network::release(Id id) {
  RESHARDCHECK_CHECK(done(id));
  operations_[id].next = released_;
  released_ = id;
}

std::size_t Network::table_position_of(RankPair ranks) const {
  const std::uint64_t key =
      (std::uint64_t{static_cast<std::uint32_t>(ranks.from)} << 32U) | static_cast<std::uint32_t>(ranks.to);
  const std::size_t mask = table_.size() - 1;
  std::size_t position = ((key * 0x9E3779B97F4A7C15U) >> 32U) & mask;
  while (table_[position] != empty && pairs_[table_[position]].ranks != ranks) position = (position + 1) & mask;
  return position;
}

std::uint32_t Network::pair_index(RankPair ranks) {
  if (table_.empty()) table_.assign(smallest_table, empty);
  std::size_t position = table_position_of(ranks);
  if (table_[position] != empty) return table_[position];
  if (pairs_.size() * 2 >= table_.size()) {
    grow_table();
    position = table_position_of(ranks);
  }
  const auto index = static_cast<std::uint32_t>(pairs_.size());
  table_[position] = index;
  pairs_.emplace_back();
  pairs_.back().ranks = ranks;
  pairs_.back().table_position = static_cast<std::uint32_t>(position);
  return index;
}

void Network::grow_table() {
  table_.assign(table_.size() * 2, empty);
  for (std::uint32_t index = 0; index < pairs_.size(); ++index) {
    const std::size_t position = table_position_of(pairs_[index].ranks);
    table_[position] = index;
    pairs_[index].table_position = static_cast<std::uint32_t>(position);
  }
}

Network::Id Network::allocate(RankPair ranks, Kind kind, std::size_t bytes) {
  Id id = released_;
  if (id == none) {
    id = static_cast<Id>(operations_.size());
    operations_.emplace_back();
  } else {
    released_ = operations_[id].next;
    operations_[id] = {};
  }
  operations_[id].kind = kind;
  operations_[id].bytes = bytes;
  operations_[id].pair = pair_index(ranks);
  return id;
}

void Network::push(Queue& queue, Id id) {
  operations_[id].next = none;
  if (queue.empty()) {
    queue.first = id;
  } else {
    operations_[queue.last].next = id;
  }
  queue.last = id;
}

Network::Id Network::pop(Queue& queue) {
  const Id id = queue.first;
  queue.first = operations_[id].next;
  return id;
}

/// Matches an operation with the oldest one waiting at the other end of its pair, or queues it.
void Network::offer(Id id) {
  Queue& posted = pairs_[operations_[id].pair].posted;
  while (!posted.empty() && operations_[posted.first].state == State::cancelled) pop(posted);
  const Kind kind = operations_[id].kind;
  if (posted.empty() || operations_[posted.first].kind == kind) {
    push(posted, id);
    return;
  }
  const Id other = pop(posted);
  if (kind == Kind::send) {
    match(id, other);
  } else {
    match(other, id);
  }
}

void Network::match(Id send, Id receive) {
  operations_[send].state = State::matched;
  operations_[send].partner = receive;
  operations_[receive].state = State::matched;
  operations_[receive].partner = send;
  Queue& matched = pairs_[operations_[send].pair].matched;
  if (matched.empty()) deliverable_.push_back(operations_[send].pair);
  push(matched, send);
  ++matched_messages_;
}

Network::Delivery Network::transfer(Id send, SimRandom& random) {
  Operation& from = operations_[send];
  const Id receive = from.partner;
  Operation& to = operations_[receive];
  const RankPair ranks = pairs_[from.pair].ranks;
  // 1. The bytes. Rank buffers may overlap when a rank sends to itself.
  const std::size_t carried_bytes = from.bytes - (from.effects.truncate && from.bytes > 0 ? 1 : 0);
  const std::size_t delivered_bytes = std::min(carried_bytes, to.bytes);
  if (from.effects.duplicate) capture_duplicate(send);
  if (delivered_bytes > 0) std::memmove(to.buffer, from.message, delivered_bytes);
  if (from.effects.corrupt && delivered_bytes > 0) {
    const std::size_t byte = random.below(std::min(delivered_bytes, std::size_t{1} << 31U));
    to.buffer[byte] ^= std::byte{1} << random.below(8);
  }
  // 2. The ends. A sender cannot tell that the network cut its message short.
  if (from.bytes != to.bytes) from.status = CommStatus::size_mismatch;
  if (carried_bytes != to.bytes) to.status = CommStatus::size_mismatch;
  from.state = State::done;
  to.state = State::done;
  // 3. The accounts.
  --matched_messages_;
  --undelivered_messages_;
  traffic_.count_message(ranks, carried_bytes);
  if (!forget_duplicate(send)) return {.ranks = ranks, .send = send, .receive = receive};
  release(send);  // nobody waits for it
  return {.ranks = ranks, .send = none, .receive = receive};
}

Network::Effects Network::effects_of(std::int64_t message_number) const {
  Effects effects;
  for (const Fault& fault : faults_) {
    if (fault.at != message_number) continue;
    switch (fault.kind) {
      case FaultKind::drop:
        effects.drop = true;
        break;
      case FaultKind::duplicate:
        effects.duplicate = true;
        break;
      case FaultKind::reorder:
        effects.reorder = true;
        break;
      case FaultKind::corrupt:
        effects.corrupt = true;
        break;
      case FaultKind::truncate:
        effects.truncate = true;
        break;
      case FaultKind::kill:
      case FaultKind::stall:
        break;  // of ranks: the scheduler's
    }
  }
  return effects;
}

/// Sends the message a second time, right behind itself. Its payload is taken when the original is delivered,
/// because afterwards the sender may change its buffer.
void Network::add_duplicate(Id original) {
  const Id copy = allocate(ranks(original), Kind::send, operations_[original].bytes);
  ++undelivered_messages_;
  duplicates_.push_back({.original = original, .copy = copy, .payload = {}});
  offer(copy);
}

void Network::capture_duplicate(Id original) {
  for (Duplicate& duplicate : duplicates_) {
    if (duplicate.original != original) continue;
    const Operation& from = operations_[original];
    duplicate.payload.assign(from.message, from.message + from.bytes);
    duplicate.original = none;
    operations_[duplicate.copy].message = duplicate.payload.data();
  }
}

void Network::cancel_duplicate(Id original) {
  for (Duplicate& duplicate : duplicates_) {
    if (duplicate.original == original) cancel(duplicate.copy);
  }
}

bool Network::forget_duplicate(Id send) {
  for (Duplicate& duplicate : duplicates_) {
    if (duplicate.copy != send) continue;
    duplicate.copy = none;
    return true;
  }
  return false;
}

}  // namespace reshardcheck
