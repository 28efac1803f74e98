// Choices: where a generator gets its decisions from.
//
// Generators are plain imperative code that asks a Choices for bounded integers. The same code then serves two
// masters: RandomChoices answers from RapidCheck's splittable random, so that a seed is a case; CountingChoices
// answers like an odometer, so that calling the generator until next() is false visits every case of a bound once.
// A generator must decide through its Choices alone and must ask for at most a bounded number of decisions.
#pragma once

#include <rapidcheck/Random.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/result.h"

namespace reshardcheck {

class Choices {
 public:
  virtual ~Choices() = default;

  /// A number in [0, count); count is at least 1.
  virtual std::int64_t below(std::int64_t count) = 0;

  /// An index into weights, none of them negative and at least one positive. Random choices follow the weights,
  /// counted ones visit every index whose weight is positive.
  virtual std::size_t weighted(std::span<const int> weights) = 0;

  /// True in about `percent` of 100 random cases. 0 and 100 are no decision at all.
  bool chance(int percent);

  /// A number in [lowest, highest].
  std::int64_t between(std::int64_t lowest, std::int64_t highest) { return lowest + below(highest - lowest + 1); }

  /// An element of a span that is not empty.
  template <typename T>
  const T& pick(std::span<const T> values) {
    return values[static_cast<std::size_t>(below(std::ssize(values)))];
  }
};

/// Decisions from a random stream: the same on every machine and in every build.
class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(const rc::Random& random) : random_(random) {}
  std::int64_t below(std::int64_t count) override;
  std::size_t weighted(std::span<const int> weights) override;

 private:
  rc::Random random_;
};

/// Decisions that count: a first run takes 0 everywhere; each next() turns to the next untried path.
///
///     CountingChoices choices;
///     do { visit(generate(choices)); } while (choices.next());
class CountingChoices final : public Choices {
 public:
  std::int64_t below(std::int64_t count) override;
  std::size_t weighted(std::span<const int> weights) override;

  /// Goes to the next path of decisions; false when all have been visited.
  bool next();

 private:
  struct Digit {
    std::int64_t value = 0;
    std::int64_t count = 1;
  };
  std::vector<Digit> digits_;  // the decisions of the current path, in the order in which they were asked
  std::size_t position_ = 0;
};

}  // namespace reshardcheck
