// HandRanks: the rank checks of a case without a world, for tests that deliver and damage data by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "core/layout/notation.h"
#include "tests/verifier/hand_subject.h"
#include "verifier/element_bits.h"
#include "verifier/judge.h"
#include "verifier/rank_check.h"

namespace reshardcheck {

inline Case parsed_case(std::string_view text) {
  Result<Case> value = parse_case(text);
  if (!value.ok()) ADD_FAILURE() << explain_error(text, value.error());
  return *value;
}

class HandRanks {
 public:
  explicit HandRanks(Case checked)
      : value_(std::move(checked)), fill_(value_), ranks_(static_cast<std::size_t>(value_.world_ranks())) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].assign(value_, fill_, static_cast<Rank>(rank));
      memory_.push_back(allocate(ranks_[rank].bytes()));
      ranks_[rank].place(memory_.back().get());
    }
  }

  [[nodiscard]] const Case& value() const { return value_; }
  [[nodiscard]] const Fill& fill() const { return fill_; }
  RankCheck& operator[](std::size_t rank) { return ranks_[rank]; }
  [[nodiscard]] std::size_t size() const { return ranks_.size(); }

  [[nodiscard]] const LocalTensor& target(std::size_t rank, std::size_t tensor) const {
    return ranks_[rank].buffers().tensors()[tensor].target;
  }
  [[nodiscard]] const LocalTensor& source(std::size_t rank, std::size_t tensor) const {
    return ranks_[rank].buffers().tensors()[tensor].source;
  }

  /// What a subject that is right leaves in the targets.
  void deliver(Call call) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) deliver(rank, call);
  }
  void deliver(std::size_t rank, Call call) {
    for (std::size_t tensor = 0; tensor < value_.tensors.size(); ++tensor) {
      const LocalTensor& local = target(rank, tensor);
      if (!local.present()) continue;
      const int width = width_bytes(value_.tensors[tensor].dtype);
      HandSubject::for_each_element(value_.tensors[tensor].target, local, [&](std::int64_t offset, std::int64_t index) {
        store_element(local.data + offset * width, width, fill_.value(tensor, index, call));
      });
    }
  }

  /// All passes and refits of one rank, or of all; `damage(call)` comes between delivery and check.
  template <typename Damage>
  void run(Damage&& damage) {
    for (int pass = 0; pass < fill_.passes(); ++pass) {
      for (RankCheck& rank : ranks_) rank.begin_pass(pass);
      for (int refit = 0; refit < fill_.refits(); ++refit) {
        for (RankCheck& rank : ranks_) rank.fill_sources({pass, refit});
        deliver({pass, refit});
        damage(Call{pass, refit});
        for (RankCheck& rank : ranks_) rank.check({pass, refit});
      }
    }
  }

  [[nodiscard]] Verdict verdict() const {
    std::vector<RankReport> reports;
    for (const RankCheck& rank : ranks_) reports.push_back(rank.report());
    Evidence evidence;
    evidence.value = &value_;
    evidence.fill = &fill_;
    evidence.ranks = reports;
    return judge(evidence);
  }

  /// Forgets what the checks have seen.
  void restart() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].assign(value_, fill_, static_cast<Rank>(rank));
      ranks_[rank].place(memory_[rank].get());
    }
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  static Memory allocate(std::int64_t bytes) {
    return Memory(static_cast<std::byte*>(::operator new (static_cast<std::size_t>(bytes), std::align_val_t{64})));
  }

  Case value_;
  Fill fill_;
  std::vector<Memory> memory_;
  std::vector<RankCheck> ranks_;
};

}  // namespace reshardcheck
