// A queue per pair in a hash table that knows only the pairs in use. Empty queues stay for the next run, which mostly
// uses the same pairs, until there are too many of them.
#include "core/world/mailbox.h"

namespace reshardcheck {
namespace {

constexpr std::size_t kept_queues = std::size_t{1} << 16;

std::uint64_t key(RankPair ranks) {
  return (std::uint64_t{static_cast<std::uint32_t>(ranks.from)} << 32U) | static_cast<std::uint32_t>(ranks.to);
}

}  // namespace

Post& Mailbox::post_send(RankPair ranks, const std::byte* message, std::size_t bytes) {
  Post& post = take(Post::Kind::send, ranks, bytes);
  post.message = message;
  match_or_queue(post);
  return post;
}

Post& Mailbox::post_receive(RankPair ranks, std::byte* buffer, std::size_t bytes) {
  Post& post = take(Post::Kind::receive, ranks, bytes);
  post.buffer = buffer;
  match_or_queue(post);
  return post;
}

void Mailbox::release(Post& post) {
  if (post.state == Post::State::matched) {
    post.partner->state = Post::State::open;
    post.partner->partner = nullptr;
  } else if (post.is_linked()) {
    Queue& queue = open_[key(post.ranks)];
    queue.erase(queue.iterator_to(post));
    if (queue.empty() && open_.size() > kept_queues) open_.erase(key(post.ranks));
  }
  released_.push_back(&post);
}

Post& Mailbox::take(Post::Kind kind, RankPair ranks, std::size_t bytes) {
  if (released_.empty()) released_.push_back(&posts_.emplace_back());
  Post& post = *released_.back();
  released_.pop_back();
  post.kind = kind;
  post.ranks = ranks;
  post.message = nullptr;
  post.buffer = nullptr;
  post.bytes = bytes;
  post.state = Post::State::open;
  post.status = CommStatus::ok;
  post.partner = nullptr;
  return post;
}

void Mailbox::match_or_queue(Post& post) {
  Queue& queue = open_[key(post.ranks)];
  if (queue.empty() || queue.front().kind == post.kind) {
    queue.push_back(post);
    return;
  }
  Post& other = queue.front();
  queue.pop_front();
  other.state = Post::State::matched;
  other.partner = &post;
  post.state = Post::State::matched;
  post.partner = &other;
}

}  // namespace reshardcheck
