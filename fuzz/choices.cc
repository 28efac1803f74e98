#include "fuzz/choices.h"

#include <algorithm>
#include <numeric>

namespace reshardcheck {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

bool Choices::chance(int percent) {
  if (percent <= 0) return false;
  if (percent >= 100) return true;
  const int weights[] = {100 - percent, percent};
  return weighted(weights) == 1;
}

std::int64_t RandomChoices::below(std::int64_t count) {
  RESHARDCHECK_CHECK(count >= 1);
  if (count == 1) return 0;
  // The high half of a 64x64 product; for the small counts asked here its bias is below 2^-40.
  return static_cast<std::int64_t>((static_cast<Wide>(random_.next()) * static_cast<std::uint64_t>(count)) >> 64);
}

std::size_t RandomChoices::weighted(std::span<const int> weights) {
  const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  std::int64_t drawn = below(total);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    drawn -= weights[i];
    if (drawn < 0) return i;
  }
  RESHARDCHECK_CHECK(false && "weights sum to their total");
}

std::int64_t CountingChoices::below(std::int64_t count) {
  RESHARDCHECK_CHECK(count >= 1);
  if (count == 1) return 0;
  if (position_ == digits_.size()) digits_.push_back({0, count});
  Digit& digit = digits_[position_++];
  RESHARDCHECK_CHECK(digit.count == count);  // the generator decides through its choices alone
  return digit.value;
}

std::size_t CountingChoices::weighted(std::span<const int> weights) {
  const auto positive = std::count_if(weights.begin(), weights.end(), [](int weight) { return weight > 0; });
  std::int64_t skip = below(positive);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0 && skip-- == 0) return i;
  }
  RESHARDCHECK_CHECK(false && "there is a positive weight");
}

bool CountingChoices::next() {
  digits_.resize(position_);
  position_ = 0;
  while (!digits_.empty()) {
    if (++digits_.back().value < digits_.back().count) return true;
    digits_.pop_back();
  }
  return false;
}

}  // namespace reshardcheck
