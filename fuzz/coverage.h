// Coverage: which features, and which pairs of features, a search has seen together.
//
// A case has one value for every feature of a fixed list (how many source ranks, by which rule the target is cut,
// whether shards are empty, ...): its feature vector. Bugs need few features but need them together, so the measure is
// pairs: value a of one feature and value b of another in one case (combinatorial testing's two-way coverage; Kuhn,
// Wallace and Gallo, IEEE TSE 2004). Some pairs cannot exist (two axes on one dim of a 0-d tensor); they count as not
// seen, so the share never reaches all. A campaign draws a few candidates a case and takes the one with most new pairs.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"

namespace reshardcheck {

/// A feature's name and the words for its values.
struct FeatureKind {
  std::string_view name;
  std::span<const std::string_view> values;
};

/// Every feature, in the order of a feature vector.
[[nodiscard]] std::span<const FeatureKind> feature_kinds();

inline constexpr std::size_t feature_count = 30;

/// One value a feature: an index into FeatureKind::values.
using FeatureVector = std::array<std::uint8_t, feature_count>;

/// The features of a case. Those of layouts are the first tensor's; mixes add their own.
[[nodiscard]] FeatureVector features_of(const Case& value);

class Coverage {
 public:
  Coverage();

  void add(const FeatureVector& features);
  /// Pairs of these features that no case so far had.
  [[nodiscard]] std::int64_t new_pairs(const FeatureVector& features) const;

  [[nodiscard]] std::int64_t cases() const { return cases_; }
  [[nodiscard]] std::int64_t seen_values() const;
  [[nodiscard]] std::int64_t all_values() const { return static_cast<std::int64_t>(value_cases_.size()); }
  [[nodiscard]] std::int64_t seen_pairs() const { return seen_pairs_; }
  [[nodiscard]] std::int64_t all_pairs() const { return static_cast<std::int64_t>(pair_seen_.size()); }
  /// Cases that had a value of a feature.
  [[nodiscard]] std::int64_t cases_with(std::size_t feature, std::size_t value) const;

  /// {"cases","values":{"seen","all"},"pairs":{"seen","all"},"features":[{"name","values":{word:cases}}],
  /// "unseen_pairs":[...]}: the last names every pair not seen as "feature=value feature=value".
  [[nodiscard]] nlohmann::json to_json() const;
  /// A table for people: one line a feature with the cases of each value, and the totals.
  [[nodiscard]] std::string text() const;

 private:
  template <typename Visit>
  void for_each_pair(const FeatureVector& features, const Visit& visit) const;

  std::int64_t cases_ = 0;
  std::int64_t seen_pairs_ = 0;
  std::vector<std::int64_t> value_cases_;  // by feature, then value
  std::vector<std::uint8_t> pair_seen_;    // by pair of features, then by their values
};

}  // namespace reshardcheck
