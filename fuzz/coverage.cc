#include "fuzz/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace reshardcheck {
namespace {

using std::string_view;

constexpr string_view counts[] = {"1", "2", "3-4", "5-8", "9+"};
constexpr string_view few[] = {"1", "2", "3+"};
constexpr string_view dim_counts[] = {"0", "1", "2", "3+"};
constexpr string_view rules[] = {"none", "chunk", "balanced", "even", "padded", "cuts", "segments", "strided"};
constexpr string_view no_yes[] = {"no", "yes"};
constexpr string_view orders[] = {"consecutive", "gaps", "permuted"};
constexpr string_view overlaps[] = {"none", "some", "same ranks"};
constexpr string_view ratios[] = {"fewer", "equal", "more"};
constexpr string_view widths[] = {"1", "2", "4", "8"};
constexpr string_view paths[] = {"reshard", "gather_broadcast", "both"};
constexpr string_view domains[] = {"none", "one rank", "at a side", "across a side"};
constexpr string_view fills[] = {"digits", "hash", "special", "provenance"};

constexpr FeatureKind kinds[] = {{"source ranks", counts},
                                 {"target ranks", counts},
                                 {"source axes", few},
                                 {"target axes", few},
                                 {"dims", dim_counts},
                                 {"width", widths},
                                 {"tensors", few},
                                 {"source rule", rules},
                                 {"target rule", rules},
                                 {"source axes on one dim", no_yes},
                                 {"target axes on one dim", no_yes},
                                 {"source replicas", few},
                                 {"target replicas", few},
                                 {"target replicas against source", ratios},
                                 {"source uneven", no_yes},
                                 {"target uneven", no_yes},
                                 {"empty shards", no_yes},
                                 {"zero extent", no_yes},
                                 {"source order", orders},
                                 {"target order", orders},
                                 {"shared ranks", overlaps},
                                 {"target first", no_yes},
                                 {"idle ranks", no_yes},
                                 {"domains", domains},
                                 {"refits", few},
                                 {"chunk", no_yes},
                                 {"gap", no_yes},
                                 {"batch", no_yes},
                                 {"fill", fills},
                                 {"path", paths}};
static_assert(std::size(kinds) == feature_count);

/// Where each feature's values begin in a list of all values, and how many there are in all.
constexpr std::array<std::size_t, feature_count + 1> value_offsets = [] {
  std::array<std::size_t, feature_count + 1> offsets{};
  for (std::size_t i = 0; i < feature_count; ++i) offsets[i + 1] = offsets[i] + kinds[i].values.size();
  return offsets;
}();

/// Pairs are numbered feature by feature: the values of `first` against all values of the features after it.
constexpr std::array<std::size_t, feature_count + 1> pair_offsets = [] {
  std::array<std::size_t, feature_count + 1> offsets{};
  for (std::size_t i = 0; i < feature_count; ++i) {
    offsets[i + 1] = offsets[i] + kinds[i].values.size() * (value_offsets[feature_count] - value_offsets[i + 1]);
  }
  return offsets;
}();

std::size_t pair_number(std::size_t first, std::size_t first_value, std::size_t second, std::size_t second_value) {
  const std::size_t later_values = value_offsets[feature_count] - value_offsets[first + 1];
  return pair_offsets[first] + first_value * later_values + value_offsets[second] - value_offsets[first + 1] +
         second_value;
}

std::uint8_t few_of(std::size_t count) { return static_cast<std::uint8_t>(std::clamp<std::size_t>(count, 1, 3) - 1); }

std::uint8_t count_of(std::size_t count) {
  return static_cast<std::uint8_t>(count <= 2 ? count - 1 : count <= 4 ? 2 : count <= 8 ? 3 : 4);
}

std::uint8_t rule_of(const Layout& layout) {
  for (const Placement& placement : layout.placements()) {
    if (placement.is_shard()) return static_cast<std::uint8_t>(static_cast<int>(placement.rule) + 1);
  }
  return 0;
}

bool cuts_one_dim_twice(const Layout& layout) {
  std::set<int> dims;
  return std::any_of(layout.placements().begin(), layout.placements().end(), [&dims](const Placement& placement) {
    return placement.is_shard() && !dims.insert(placement.dim).second;
  });
}

bool is_uneven(const Layout& layout) {
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    const std::span<const DimPiece> pieces = layout.pieces(dim);
    const auto differs = [&](const DimPiece& piece) { return piece.owned.size() != pieces.front().owned.size(); };
    if (std::any_of(pieces.begin(), pieces.end(), differs)) return true;
  }
  return false;
}

bool has_empty_shard(const Layout& layout) {
  for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
    const std::span<const DimPiece> pieces = layout.pieces(dim);
    if (std::any_of(pieces.begin(), pieces.end(), [](const DimPiece& piece) { return piece.owned.empty(); }))
      return true;
  }
  return false;
}

std::uint8_t order_of(const Mesh& mesh) {
  if (mesh.is_consecutive()) return 0;
  return std::is_sorted(mesh.ranks().begin(), mesh.ranks().end()) ? 1 : 2;
}

std::uint8_t overlap_of(const Mesh& source, const Mesh& target) {
  const std::span<const Rank> ranks = source.ranks();
  const auto shared = static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [&](Rank rank) { return target.index_of(rank).has_value(); }));
  if (shared == 0) return 0;
  return shared == source.size() && shared == target.size() ? 2 : 1;
}

std::uint8_t domain_of(const Case& value, const TensorCase& tensor) {
  if (value.options.domain_ranks == 0) return 0;
  if (value.options.domain_ranks == 1) return 1;
  const std::int64_t begin = std::max(tensor.source.mesh().lowest_rank(), tensor.target.mesh().lowest_rank());
  return (begin - value.options.domain_anchor) % value.options.domain_ranks == 0 ? 2 : 3;
}

std::uint8_t path_of(const Case& value) {
  const auto broadcasts = std::count_if(value.tensors.begin(), value.tensors.end(),
                                        [](const TensorCase& tensor) { return tensor.path == Path::gather_broadcast; });
  if (broadcasts == 0) return 0;
  return broadcasts == std::ssize(value.tensors) ? 1 : 2;
}

bool names_every_rank(const Case& value) {
  std::set<Rank> named;
  for (const TensorCase& tensor : value.tensors) {
    for (const Layout* layout : {&tensor.source, &tensor.target}) {
      named.insert(layout->mesh().ranks().begin(), layout->mesh().ranks().end());
    }
  }
  return std::ssize(named) == value.world_ranks();
}

}  // namespace

std::span<const FeatureKind> feature_kinds() { return kinds; }

FeatureVector features_of(const Case& value) {
  const TensorCase& tensor = value.tensors.front();
  const Layout& source = tensor.source;
  const Layout& target = tensor.target;
  const Options& options = value.options;
  const int width = width_bytes(tensor.dtype);
  const auto flag = [](bool holds) { return static_cast<std::uint8_t>(holds ? 1 : 0); };
  return {count_of(source.mesh().size()),
          count_of(target.mesh().size()),
          few_of(source.mesh().axes()),
          few_of(target.mesh().axes()),
          static_cast<std::uint8_t>(std::min<std::size_t>(source.dims(), 3)),
          static_cast<std::uint8_t>(width == 1   ? 0
                                    : width == 2 ? 1
                                    : width == 4 ? 2
                                                 : 3),
          few_of(value.tensors.size()),
          rule_of(source),
          rule_of(target),
          flag(cuts_one_dim_twice(source)),
          flag(cuts_one_dim_twice(target)),
          few_of(source.replica_count()),
          few_of(target.replica_count()),
          static_cast<std::uint8_t>(target.replica_count() < source.replica_count()    ? 0
                                    : target.replica_count() == source.replica_count() ? 1
                                                                                       : 2),
          flag(is_uneven(source)),
          flag(is_uneven(target)),
          flag(has_empty_shard(source) || has_empty_shard(target)),
          flag(elements(tensor.shape()) == 0),
          order_of(source.mesh()),
          order_of(target.mesh()),
          overlap_of(source.mesh(), target.mesh()),
          flag(target.mesh().lowest_rank() < source.mesh().lowest_rank()),
          flag(!names_every_rank(value)),
          domain_of(value, tensor),
          few_of(static_cast<std::size_t>(options.refits)),
          flag(options.chunk_bytes > 0),
          flag(options.gap_elements > 0),
          flag(options.batch_tensors > 0),
          static_cast<std::uint8_t>(options.fill),
          path_of(value)};
}

Coverage::Coverage() : value_cases_(value_offsets[feature_count], 0), pair_seen_(pair_offsets[feature_count], 0) {}

template <typename Visit>
void Coverage::for_each_pair(const FeatureVector& features, const Visit& visit) const {
  for (std::size_t first = 0; first < feature_count; ++first) {
    const std::size_t row = pair_number(first, features[first], first + 1, 0);
    for (std::size_t second = first + 1; second < feature_count; ++second) {
      visit(row + value_offsets[second] - value_offsets[first + 1] + features[second]);
    }
  }
}

void Coverage::add(const FeatureVector& features) {
  ++cases_;
  for (std::size_t i = 0; i < feature_count; ++i) ++value_cases_[value_offsets[i] + features[i]];
  for_each_pair(features, [this](std::size_t pair) {
    seen_pairs_ += pair_seen_[pair] == 0 ? 1 : 0;
    pair_seen_[pair] = 1;
  });
}

std::int64_t Coverage::new_pairs(const FeatureVector& features) const {
  std::int64_t pairs = 0;
  for_each_pair(features, [&](std::size_t pair) { pairs += pair_seen_[pair] == 0 ? 1 : 0; });
  return pairs;
}

std::int64_t Coverage::seen_values() const {
  return std::count_if(value_cases_.begin(), value_cases_.end(), [](std::int64_t cases) { return cases > 0; });
}

std::int64_t Coverage::cases_with(std::size_t feature, std::size_t value) const {
  return value_cases_[value_offsets[feature] + value];
}

nlohmann::json Coverage::to_json() const {
  nlohmann::json features = nlohmann::json::array();
  nlohmann::json unseen = nlohmann::json::array();
  for (std::size_t first = 0; first < feature_count; ++first) {
    nlohmann::json values = nlohmann::json::object();
    for (std::size_t a = 0; a < kinds[first].values.size(); ++a) {
      values[std::string(kinds[first].values[a])] = cases_with(first, a);
      for (std::size_t second = first + 1; second < feature_count; ++second) {
        for (std::size_t b = 0; b < kinds[second].values.size(); ++b) {
          if (pair_seen_[pair_number(first, a, second, b)] != 0) continue;
          unseen.push_back(fmt::format("{}={}, {}={}", kinds[first].name, kinds[first].values[a], kinds[second].name,
                                       kinds[second].values[b]));
        }
      }
    }
    features.push_back({{"name", kinds[first].name}, {"values", values}});
  }
  return {{"cases", cases_},
          {"values", {{"seen", seen_values()}, {"all", all_values()}}},
          {"pairs", {{"seen", seen_pairs()}, {"all", all_pairs()}}},
          {"features", features},
          {"unseen_pairs", unseen}};
}

std::string Coverage::text() const {
  std::string text =
      fmt::format("coverage: {} of {} feature values, {} of {} pairs ({:.1f} %; some pairs cannot exist)\n",
                  seen_values(), all_values(), seen_pairs(), all_pairs(),
                  100.0 * static_cast<double>(seen_pairs()) / static_cast<double>(all_pairs()));
  for (std::size_t feature = 0; feature < feature_count; ++feature) {
    text += fmt::format("  {:<31}", kinds[feature].name);
    for (std::size_t value = 0; value < kinds[feature].values.size(); ++value) {
      text += fmt::format(" {} {}{}", kinds[feature].values[value], cases_with(feature, value),
                          value + 1 < kinds[feature].values.size() ? "," : "\n");
    }
  }
  return text;
}

}  // namespace reshardcheck
