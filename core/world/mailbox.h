// Mailbox: where the posts of threads meet.
//
// Sends and receives of an ordered pair of ranks are matched in the order in which they were posted; what a matched
// pair of posts then goes through (copying, done) is up to the threads that own the two ends. Nothing here locks: the
// world's lock is held around every call. Posts are recycled, so a message allocates nothing in the steady state.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/world/traffic.h"
#include "core/world/world.h"

namespace reshardcheck {

/// One end of a message, from the post to release().
struct Post : boost::intrusive::list_base_hook<> {
  enum class Kind : std::uint8_t { send, receive };
  enum class State : std::uint8_t {
    open,     // no other end, or the other end was cancelled
    matched,  // the bytes can be copied
    copying,  // by one of the two owners
    done,
  };

  Kind kind = Kind::send;
  RankPair ranks;
  const std::byte* message = nullptr;  // of a send
  std::byte* buffer = nullptr;         // of a receive
  std::size_t bytes = 0;
  State state = State::open;
  CommStatus status = CommStatus::ok;
  Post* partner = nullptr;  // while matched or copying

  [[nodiscard]] Rank owner() const { return kind == Kind::send ? ranks.from : ranks.to; }
  [[nodiscard]] Rank peer() const { return kind == Kind::send ? ranks.to : ranks.from; }
};

class Mailbox {
 public:
  Post& post_send(RankPair ranks, const std::byte* message, std::size_t bytes);
  Post& post_receive(RankPair ranks, std::byte* buffer, std::size_t bytes);

  /// The post is over: done, or taken back, in which case its other end will never finish. It must not be copying.
  void release(Post& post);

 private:
  using Queue = boost::intrusive::list<Post>;

  Post& take(Post::Kind kind, RankPair ranks, std::size_t bytes);
  void match_or_queue(Post& post);

  std::unordered_map<std::uint64_t, Queue> open_;  // by pair: unmatched posts, all sends or all receives
  std::deque<Post> posts_;
  std::vector<Post*> released_;
};

}  // namespace reshardcheck
