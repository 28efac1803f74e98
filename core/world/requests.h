// Requests: what one rank has posted and not waited for, found by the number that its body holds.
//
// A request is good for one wait. Numbers count up from 0 in a run, and the list empties whenever every request has
// been waited for, so it is as long as the longest stretch of posts and not as the run.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/world/world.h"

namespace reshardcheck {

template <typename Posted>
class Requests {
 public:
  /// Forgets everything, and counts from 0 again.
  void begin() {
    kept_.clear();
    first_ = 0;
    open_ = 0;
  }

  Request keep(Posted posted) {
    kept_.emplace_back(std::move(posted));
    ++open_;
    return first_ + static_cast<Request>(kept_.size() - 1);
  }

  /// What was kept under the number; nothing when it never was or has been taken.
  std::optional<Posted> take(Request request) {
    const std::size_t index = static_cast<Request>(request - first_);  // wraps to a huge number for those of long ago
    if (index >= kept_.size() || !kept_[index]) return std::nullopt;
    std::optional<Posted> posted = std::exchange(kept_[index], std::nullopt);
    if (--open_ == 0) forget_taken();
    return posted;
  }

  /// Takes all that is left, in the order of the posts.
  template <typename Visit>
  void take_all(Visit visit) {
    for (std::optional<Posted>& posted : kept_) {
      if (posted) visit(*posted);
    }
    open_ = 0;
    forget_taken();
  }

 private:
  void forget_taken() {
    first_ += static_cast<Request>(kept_.size());
    kept_.clear();
  }

  std::vector<std::optional<Posted>> kept_;  // kept_[0] is number first_
  Request first_ = 0;
  std::size_t open_ = 0;
};

}  // namespace reshardcheck
