// One lock guards all that the threads share. A rank that cannot go on is counted as blocked until the very thread
// that makes it able to go on takes it off the count, so when all ranks are blocked or have returned, nothing is under
// way and the deadlock is certain.
//
// Wake-ups are noted under the lock and sent after it was let go: a thread woken earlier would only wait for the lock.
#include "core/world/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "core/layout/result.h"
#include "core/world/collective.h"
#include "core/world/mailbox.h"
#include "core/world/requests.h"
#include "core/world/stuck.h"

namespace reshardcheck {
namespace {

/// Smaller messages are copied under the lock: letting go of it and taking it back costs more.
constexpr std::size_t copied_under_lock_bytes = 4'096;

/// Waking a thread that sleeps on an idle core takes tens of microseconds, more than a wait of a tiny case; a thread
/// that yields until then is there at once. Of more ranks than these, those that look would only take turns.
constexpr std::int64_t few_ranks = 4;
constexpr int looks_before_sleep = 200;

using Lock = std::unique_lock<std::mutex>;

}  // namespace

class ThreadsWorld::Implementation {
 public:
  Implementation() = default;
  ~Implementation();
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic);

 private:
  class Participant;

  void begin(const RunOptions& options, const RankBody& body);
  void wait_for_ranks(Lock& lock, std::int64_t deadline_ms);
  void wake_all(Lock& lock);
  void check_for_deadlock();
  void give_up(CommStatus status);
  void unblock_all();
  bool finish(std::exception_ptr escaped);
  [[nodiscard]] std::vector<RankWait> waits() const;
  [[nodiscard]] Participant& participant(Rank rank) const { return *participants_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] CommStatus hopeless_status(Rank rank) const { return stuck_.of_rank[static_cast<std::size_t>(rank)]; }

  std::mutex mutex_;  // guards everything below, and what the participants say it does
  std::vector<Participant*> to_wake_;
  std::condition_variable all_returned_;
  const RankBody* body_ = nullptr;
  std::size_t world_ranks_ = 0;
  std::atomic<int> looks_ = 0;  // of a thread, before it sleeps
  std::size_t blocked_ranks_ = 0;
  std::size_t returned_ranks_ = 0;
  bool hopeless_ = false;  // open waits have been ended; every operation fails
  StuckReport stuck_;
  std::int64_t unreceived_messages_ = 0;
  std::exception_ptr escaped_;
  Mailbox mailbox_;
  TrafficCount traffic_;
  Collective collective_;
  std::vector<std::unique_ptr<Participant>> participants_;  // by rank; more than this run has, after a larger one
};

/// One rank: its thread, the endpoint that its body sees, and where it stands.
class ThreadsWorld::Implementation::Participant final : public Endpoint {
 public:
  Participant(Implementation& world, Rank rank) : world_(world), rank_(rank) {
    thread_ = std::thread(&Participant::serve, this);
  }
  /// After a wake() that started nothing.
  void join() { thread_.join(); }
  /// Sent once for every time the rank starts or is unblocked.
  void wake() { wake_.release(); }
  /// Until wake(). It looks for that `looks` times first, and yields between.
  void sleep(int looks) {
    while (looks-- > 0) {
      if (wake_.try_acquire()) return;
      std::this_thread::yield();
    }
    wake_.acquire();
  }

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank world_ranks() const override { return static_cast<Rank>(world_.world_ranks_); }

  Request post_send(Rank to, std::span<const std::byte> message) override;
  Request post_receive(Rank from, std::span<std::byte> buffer) override;
  CommStatus wait(Request request) override;
  CommStatus barrier() override { return join({.kind = CollectiveKind::barrier}); }
  CommStatus broadcast(Rank root, std::span<std::byte> buffer) override {
    return join({.kind = CollectiveKind::broadcast, .root = root, .buffer = buffer});
  }
  CommStatus allreduce(std::span<std::uint64_t> values, Reduction reduction) override {
    return join({.kind = CollectiveKind::allreduce, .reduction = reduction, .values = values});
  }

  // All of these with the world's lock held.
  void begin();
  void unblock();
  [[nodiscard]] bool stands_at(const Post& post) const { return waiting_for_ == &post; }
  /// Except in a collective, which only the world can tell.
  [[nodiscard]] RankWait standing() const;

 private:
  enum class State : std::uint8_t { idle, starting, running };
  /// A request that has not been waited for. Without a post its status was known at once.
  struct Open {
    Post* post = nullptr;
    CommStatus status = CommStatus::ok;
  };

  void serve();
  void run_body();
  void unlock(Lock& lock);
  [[nodiscard]] CommStatus refusal(Rank peer) const;
  CommStatus join(const CollectiveEntry& entry);
  Request keep(Lock& lock, Post& post);
  void block(Lock& lock);
  void copy(Lock& lock, Post& post);
  void give_back(Lock& lock, Post& post);

  Implementation& world_;
  const Rank rank_;
  std::counting_semaphore<2> wake_{0};  // at most one of a start or an unblocking, and one of the closing world
  // Of this thread alone:
  Requests<Open> requests_;
  std::vector<Participant*> waking_;
  // With the world's lock:
  State state_ = State::idle;
  bool blocked_ = false;
  const Post* waiting_for_ = nullptr;
  std::thread thread_;
};

// ---- A rank ----------------------------------------------------------------------------------------------------

void ThreadsWorld::Implementation::Participant::begin() {
  state_ = State::starting;
  blocked_ = false;
  waiting_for_ = nullptr;
  world_.to_wake_.push_back(this);
}

void ThreadsWorld::Implementation::Participant::serve() {
  while (true) {
    sleep(world_.looks_);
    {
      const Lock lock(world_.mutex_);
      if (state_ != State::starting) return;  // the world closes
      state_ = State::running;
    }
    run_body();
  }
}

void ThreadsWorld::Implementation::Participant::run_body() {
  requests_.begin();
  std::exception_ptr escaped;
  try {
    (*world_.body_)(*this);
  } catch (...) {
    escaped = std::current_exception();
  }
  Lock lock(world_.mutex_);
  requests_.take_all([&](const Open& open) {
    if (open.post != nullptr) give_back(lock, *open.post);
  });
  state_ = State::idle;
  const bool last = world_.finish(std::move(escaped));
  unlock(lock);
  if (last) world_.all_returned_.notify_one();
}

/// Lets go of the lock, and wakes those who can go on.
void ThreadsWorld::Implementation::Participant::unlock(Lock& lock) {
  waking_.swap(world_.to_wake_);
  lock.unlock();
  for (Participant* participant : waking_) participant->wake();
  waking_.clear();
}

/// Why an operation towards `peer` fails at once, or ok.
CommStatus ThreadsWorld::Implementation::Participant::refusal(Rank peer) const {
  if (world_.hopeless_) return world_.hopeless_status(rank_);
  if (peer < 0 || static_cast<std::size_t>(peer) >= world_.world_ranks_) return CommStatus::bad_argument;
  return CommStatus::ok;
}

Request ThreadsWorld::Implementation::Participant::post_send(Rank to, std::span<const std::byte> message) {
  Lock lock(world_.mutex_);
  if (const CommStatus status = refusal(to); status != CommStatus::ok) return requests_.keep({nullptr, status});
  return keep(lock, world_.mailbox_.post_send({.from = rank_, .to = to}, message.data(), message.size()));
}

Request ThreadsWorld::Implementation::Participant::post_receive(Rank from, std::span<std::byte> buffer) {
  Lock lock(world_.mutex_);
  if (const CommStatus status = refusal(from); status != CommStatus::ok) return requests_.keep({nullptr, status});
  return keep(lock, world_.mailbox_.post_receive({.from = from, .to = rank_}, buffer.data(), buffer.size()));
}

/// A rank that stands at the other end is woken to copy; this one may never wait.
Request ThreadsWorld::Implementation::Participant::keep(Lock& lock, Post& post) {
  if (post.state == Post::State::matched) {
    Participant& other = world_.participant(post.partner->owner());
    if (other.stands_at(*post.partner)) other.unblock();
  }
  unlock(lock);
  return requests_.keep({&post, CommStatus::ok});
}

CommStatus ThreadsWorld::Implementation::Participant::wait(Request request) {
  const std::optional<Open> open = requests_.take(request);
  if (!open) return CommStatus::bad_argument;
  if (open->post == nullptr) return open->status;
  Post& post = *open->post;
  Lock lock(world_.mutex_);
  waiting_for_ = &post;
  // A matched message is delivered even when all hope is gone: both ends had come.
  while (post.state != Post::State::done && (post.state != Post::State::open || !world_.hopeless_)) {
    if (post.state == Post::State::matched) {
      copy(lock, post);
    } else {
      block(lock);
    }
  }
  waiting_for_ = nullptr;
  const CommStatus status = post.state == Post::State::done ? post.status : world_.hopeless_status(rank_);
  give_back(lock, post);
  unlock(lock);
  return status;
}

CommStatus ThreadsWorld::Implementation::Participant::join(const CollectiveEntry& entry) {
  Lock lock(world_.mutex_);
  if (const CommStatus status = refusal(entry.root); status != CommStatus::ok) return status;
  Collective& collective = world_.collective_;
  collective.join(rank_, entry);
  if (collective.can_complete()) {
    collective.complete(world_.traffic_);  // under the lock, which nobody needs: all the others wait for this
    world_.unblock_all();
  } else {
    block(lock);
  }
  const CommStatus status = world_.hopeless_ ? world_.hopeless_status(rank_) : collective.entry(rank_).status;
  unlock(lock);
  return status;
}

/// Returns when another thread has called unblock(), or at once when this was the last rank that could go on.
void ThreadsWorld::Implementation::Participant::block(Lock& lock) {
  blocked_ = true;
  ++world_.blocked_ranks_;
  world_.check_for_deadlock();
  unlock(lock);
  sleep(world_.looks_);
  lock.lock();
}

void ThreadsWorld::Implementation::Participant::unblock() {
  if (!blocked_) return;
  blocked_ = false;
  --world_.blocked_ranks_;
  world_.to_wake_.push_back(this);
}

/// Moves the bytes of a matched message and finishes both ends.
void ThreadsWorld::Implementation::Participant::copy(Lock& lock, Post& post) {
  Post& other = *post.partner;
  Post& send = post.kind == Post::Kind::send ? post : other;
  Post& receive = post.kind == Post::Kind::send ? other : post;
  send.state = Post::State::copying;
  receive.state = Post::State::copying;
  const std::size_t bytes = std::min(send.bytes, receive.bytes);
  const bool apart = bytes > copied_under_lock_bytes;
  if (apart) unlock(lock);
  if (bytes > 0) std::memmove(receive.buffer, send.message, bytes);  // the buffers of one rank may overlap
  if (apart) lock.lock();
  const CommStatus status = send.bytes == receive.bytes ? CommStatus::ok : CommStatus::size_mismatch;
  for (Post* end : {&send, &receive}) {
    end->state = Post::State::done;
    end->status = status;
    end->partner = nullptr;
  }
  world_.traffic_.count_message(send.ranks, send.bytes);
  Participant& owner = world_.participant(other.owner());
  if (owner.stands_at(other)) owner.unblock();
}

/// The post is over for this rank: its buffer is not touched any more.
void ThreadsWorld::Implementation::Participant::give_back(Lock& lock, Post& post) {
  waiting_for_ = &post;
  while (post.state == Post::State::copying) block(lock);
  waiting_for_ = nullptr;
  if (post.kind == Post::Kind::send && post.state != Post::State::done) ++world_.unreceived_messages_;
  world_.mailbox_.release(post);
}

RankWait ThreadsWorld::Implementation::Participant::standing() const {
  if (state_ == State::idle) return {.standing = Standing::returned};
  if (waiting_for_ == nullptr) return {.standing = Standing::stalled};
  const bool sends = waiting_for_->kind == Post::Kind::send;
  return {sends ? Standing::sending : Standing::receiving, waiting_for_->peer()};
}

// ---- The run ---------------------------------------------------------------------------------------------------

ThreadsWorld::Implementation::~Implementation() {
  for (const auto& participant : participants_) participant->wake();  // with nothing to start
  for (const auto& participant : participants_) participant->join();
}

WorldOutcome ThreadsWorld::Implementation::run(const RunOptions& options, const RankBody& body, Traffic& traffic) {
  while (participants_.size() < static_cast<std::size_t>(options.world_ranks)) {
    participants_.push_back(std::make_unique<Participant>(*this, static_cast<Rank>(participants_.size())));
  }
  Lock lock(mutex_);
  begin(options, body);
  wake_all(lock);
  wait_for_ranks(lock, options.deadline_ms);
  traffic = traffic_.total();
  if (escaped_) std::rethrow_exception(std::exchange(escaped_, nullptr));
  WorldOutcome outcome;
  outcome.unreceived_messages = unreceived_messages_;
  if (hopeless_) {
    outcome.status = stuck_.status;
    outcome.stuck = std::move(stuck_.text);
  }
  return outcome;
}

void ThreadsWorld::Implementation::begin(const RunOptions& options, const RankBody& body) {
  body_ = &body;
  world_ranks_ = static_cast<std::size_t>(options.world_ranks);
  looks_ = options.world_ranks <= few_ranks ? looks_before_sleep : 0;
  blocked_ranks_ = 0;
  returned_ranks_ = 0;
  hopeless_ = false;
  unreceived_messages_ = 0;
  escaped_ = nullptr;
  traffic_.begin(options.topology);
  collective_.begin(options.world_ranks);
  for (std::size_t rank = 0; rank < world_ranks_; ++rank) participants_[rank]->begin();
}

/// The participants' unlock(), for the thread that calls run().
void ThreadsWorld::Implementation::wake_all(Lock& lock) {
  const std::vector<Participant*> waking = std::exchange(to_wake_, {});
  lock.unlock();
  for (Participant* participant : waking) participant->wake();
  lock.lock();
}

/// Until every body has returned. At the deadline those that wait in this world are told; the others may be told by
/// the next thing they do here.
void ThreadsWorld::Implementation::wait_for_ranks(Lock& lock, std::int64_t deadline_ms) {
  const auto finished = [this] { return returned_ranks_ == world_ranks_; };
  for (int looks = looks_; looks > 0 && !finished(); --looks) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  if (deadline_ms > 0) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline_ms);
    if (!all_returned_.wait_until(lock, deadline, finished) && !hopeless_) give_up(CommStatus::deadline);
    wake_all(lock);
  }
  all_returned_.wait(lock, finished);
}

void ThreadsWorld::Implementation::check_for_deadlock() {
  if (hopeless_ || blocked_ranks_ == 0 || blocked_ranks_ + returned_ranks_ < world_ranks_) return;
  give_up(CommStatus::deadlock);
}

/// Finds out why nothing goes on, and lets every rank that waits see its wait fail.
void ThreadsWorld::Implementation::give_up(CommStatus status) {
  stuck_ = explain_stuck(waits());
  if (status == CommStatus::deadline) {
    stuck_.status = status;
    stuck_.of_rank.assign(world_ranks_, status);
  }
  hopeless_ = true;
  unblock_all();
}

void ThreadsWorld::Implementation::unblock_all() {
  for (std::size_t rank = 0; rank < world_ranks_; ++rank) participants_[rank]->unblock();
}

/// True when this was the last rank.
bool ThreadsWorld::Implementation::finish(std::exception_ptr escaped) {
  if (escaped && !escaped_) escaped_ = std::move(escaped);
  ++returned_ranks_;
  check_for_deadlock();
  return returned_ranks_ == world_ranks_;
}

std::vector<RankWait> ThreadsWorld::Implementation::waits() const {
  std::vector<RankWait> waits;
  waits.reserve(world_ranks_);
  for (std::size_t rank = 0; rank < world_ranks_; ++rank) waits.push_back(participants_[rank]->standing());
  collective_.point_waits(waits);
  return waits;
}

ThreadsWorld::ThreadsWorld() : implementation_(std::make_unique<Implementation>()) {}
ThreadsWorld::~ThreadsWorld() = default;

std::optional<std::string> ThreadsWorld::unsupported(const RunOptions& options) const {
  if (!options.faults.empty()) return "the threads world injects no faults; the sim world does";
  if (options.world_ranks >= 0 && options.world_ranks <= max_ranks) return std::nullopt;
  return fmt::format("the threads world holds 0 to {} ranks, not {}", max_ranks, options.world_ranks);
}

WorldOutcome ThreadsWorld::run(const RunOptions& options, const RankBody& body, Traffic& traffic) {
  RESHARDCHECK_CHECK(!unsupported(options));
  return implementation_->run(options, body, traffic);
}

bool ThreadsWorld::renew() {
  implementation_ = std::make_unique<Implementation>();
  return true;
}

}  // namespace reshardcheck
