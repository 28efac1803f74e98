// Goal: what the generator makes is valid, repeatable and varied. Method: many seeds, laws on each case, and a list
// of features each of which must turn up.
#include "fuzz/generator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "core/layout/json.h"
#include "core/layout/notation.h"
#include <nlohmann/json.hpp>

namespace reshardcheck {
namespace {

Case case_of_seed(std::uint64_t seed, const GeneratorOptions& options = {}) {
  RandomChoices choices{rc::Random(seed)};
  return generate_case(choices, options);
}

RC_GTEST_PROP(Generator, EveryCaseIsValidAndParsesBackFromItsText, ()) {
  const Case value = *case_generator();
  RC_ASSERT(validate(value).ok());
  const Result<Case> parsed = parse_case(to_text(value));
  RC_ASSERT(parsed.ok());
  RC_ASSERT(*parsed == value);
  const Result<Case> from_json = case_from_json(to_json(value));
  RC_ASSERT(from_json.ok());
  RC_ASSERT(*from_json == value);
}

RC_GTEST_PROP(Generator, EveryCaseIsValidUnderEverySwarm, (std::uint64_t seed)) {
  RandomChoices choices{rc::Random(seed)};
  const GeneratorOptions swarm = draw_swarm(choices, {});
  for (int i = 0; i < 10; ++i) {
    const Case value = generate_case(choices, swarm);
    RC_ASSERT(parse_case(to_text(value)).ok());
    RC_ASSERT(value.world_ranks() <= swarm.max_world_ranks);
    RC_ASSERT(std::ssize(value.tensors) <= swarm.max_tensors);
  }
}

RC_GTEST_PROP(Generator, TheWorldStaysWithinTheRanksAskedFor, (std::uint64_t seed)) {
  RandomChoices choices{rc::Random(seed)};
  GeneratorOptions options;
  options.min_world_ranks = choices.between(2, 9);
  options.max_world_ranks = options.min_world_ranks + choices.between(0, 5);
  const Case value = generate_case(choices, options);
  RC_ASSERT(value.world_ranks() >= options.min_world_ranks);
  RC_ASSERT(value.world_ranks() <= options.max_world_ranks);
}

TEST(Generator, GivesOneCaseForOneSeedOnEveryMachine) {
  EXPECT_EQ(to_text(case_of_seed(1)), "i8[11,5] 2@0 R -> 4@2 _S(1,4) | seed=51875 gap=2");
  EXPECT_EQ(to_text(case_of_seed(2)), "f16[8,7,8] 2@0 R -> 2x2x1@2 S(0),R,S(0,even) | world=7 fill=hash seed=54851");
  EXPECT_EQ(to_text(case_of_seed(3)), "bf16[6,6,1] 2@0 S(0,pad=3) -> 2{4,3} S(1) | world=6 seed=41077");
}

TEST(Generator, HoldsARapidCheckGeneratorToItsSeedAndSize) {
  const rc::Gen<Case> generator = case_generator();
  EXPECT_EQ(generator(rc::Random(9), 50).value(), generator(rc::Random(9), 50).value());
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_LE(generator(rc::Random(seed), 0).value().world_ranks(), 2);
    EXPECT_LE(generator(rc::Random(seed), 100).value().world_ranks(), GeneratorOptions{}.max_world_ranks);
  }
}

bool any_tensor(const Case& value, const std::function<bool(const TensorCase&)>& holds) {
  return std::any_of(value.tensors.begin(), value.tensors.end(), holds);
}

bool any_placement(const Case& value, const std::function<bool(const Layout&, std::size_t)>& holds) {
  return any_tensor(value, [&](const TensorCase& tensor) {
    for (const Layout* side : {&tensor.source, &tensor.target}) {
      for (std::size_t axis = 0; axis < side->placements().size(); ++axis) {
        if (holds(*side, axis)) return true;
      }
    }
    return false;
  });
}

bool shares_ranks(const TensorCase& tensor) {
  const auto ranks = tensor.source.mesh().ranks();
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](Rank rank) { return tensor.target.mesh().index_of(rank).has_value(); });
}

bool has_empty_shard(const Layout& layout) {
  for (std::size_t i = 0; i < layout.mesh().size(); ++i) {
    if (layout.owned_elements(i) == 0 && elements(layout.shape()) > 0) return true;
  }
  return false;
}

bool is_uneven(const Layout& layout) {
  for (std::size_t i = 1; i < layout.mesh().size(); ++i) {
    if (layout.owned_elements(i) != layout.owned_elements(0)) return true;
  }
  return false;
}

const std::map<std::string, std::function<bool(const Case&)>>& features() {
  using C = const Case&;
  using T = const TensorCase&;
  static const std::map<std::string, std::function<bool(const Case&)>> table = {
      {"0-d", [](C c) { return any_tensor(c, [](T t) { return t.shape().empty(); }); }},
      {"3-d", [](C c) { return any_tensor(c, [](T t) { return t.shape().size() == 3; }); }},
      {"zero extent", [](C c) { return any_tensor(c, [](T t) { return elements(t.shape()) == 0; }); }},
      {"square", [](C c) { return any_tensor(c, [](T t) { return t.shape().size() > 1 && t.shape()[0] == t.shape()[1]; }); }},
      {"uneven", [](C c) { return any_tensor(c, [](T t) { return is_uneven(t.source); }); }},
      {"empty shard", [](C c) { return any_tensor(c, [](T t) { return has_empty_shard(t.target); }); }},
      {"axis of extent 1", [](C c) { return any_placement(c, [](const Layout& l, std::size_t a) { return l.mesh().extents()[a] == 1 && l.mesh().axes() > 1; }); }},
      {"three axes", [](C c) { return any_tensor(c, [](T t) { return t.source.mesh().axes() == 3; }); }},
      {"two axes on one dim", [](C c) { return any_placement(c, [](const Layout& l, std::size_t a) { return a > 0 && l.placements()[a].is_shard() && l.placements()[a].dim == l.placements()[a - 1].dim; }); }},
      {"permuted ranks", [](C c) { return any_tensor(c, [](T t) { return !std::is_sorted(t.source.mesh().ranks().begin(), t.source.mesh().ranks().end()); }); }},
      {"rank gaps", [](C c) { return any_tensor(c, [](T t) { return t.source.mesh().highest_rank() - t.source.mesh().lowest_rank() + 1 > std::ssize(t.source.mesh().ranks()); }); }},
      {"overlap", [](C c) { return any_tensor(c, shares_ranks); }},
      {"target first", [](C c) { return any_tensor(c, [](T t) { return t.target.mesh().highest_rank() < t.source.mesh().lowest_rank(); }); }},
      {"same layout on both sides", [](C c) { return any_tensor(c, [](T t) { return t.source.mesh().size() > 1 && t.source == t.target; }); }},
      {"replicated on both sides", [](C c) { return any_tensor(c, [](T t) { return t.source.replica_count() > 1 && t.target.replica_count() > 1 && t.source.shards() == 1 && t.target.shards() == 1; }); }},
      {"more target replicas", [](C c) { return any_tensor(c, [](T t) { return t.target.replica_count() > t.source.replica_count(); }); }},
      {"mix", [](C c) { return c.tensors.size() > 3; }},
      {"model", [](C c) { return any_tensor(c, [](T t) { return t.name.rfind("qkv", 0) == 0; }); }},
      {"both paths", [](C c) { return any_tensor(c, [](T t) { return t.path == Path::reshard; }) && any_tensor(c, [](T t) { return t.path == Path::gather_broadcast; }); }},
      {"two tensors of one geometry", [](C c) { return c.tensors.size() > 1 && c.tensors[0].source == c.tensors[1].source && c.tensors[0].target == c.tensors[1].target; }},
      {"idle ranks", [](C c) { return c.options.world_ranks > 0; }},
      {"domain", [](C c) { return c.options.domain_ranks > 1; }},
      {"domain anchor", [](C c) { return c.options.domain_anchor > 0; }},
      {"five refits", [](C c) { return c.options.refits >= 5; }},
      {"chunk", [](C c) { return c.options.chunk_bytes > 0; }},
      {"gap", [](C c) { return c.options.gap_elements > 0; }},
      {"batch", [](C c) { return c.options.batch_tensors > 0; }},
      {"special fill", [](C c) { return c.options.fill == FillKind::special; }},
      {"seed", [](C c) { return c.options.seed > 0; }},
  };
  return table;
}

TEST(Generator, MakesEveryFeatureWithinTwoThousandCases) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    const Case value = case_of_seed(seed);
    for (const auto& [feature, holds] : features()) seen[feature] += holds(value) ? 1 : 0;
    for (const SplitRule rule : all_rules) {
      seen[std::string(name(rule))] +=
          any_placement(value, [rule](const Layout& l, std::size_t a) { return l.placements()[a].is_shard() && l.placements()[a].rule == rule; }) ? 1 : 0;
    }
    for (const DType dtype : all_dtypes) seen[std::string(name(dtype))] += any_tensor(value, [dtype](const TensorCase& t) { return t.dtype == dtype; }) ? 1 : 0;
  }
  for (const auto& [feature, count] : seen) EXPECT_GE(count, 20) << feature;
}

RC_GTEST_PROP(BrokenText, IsRefusedWithAPlaceOrRoundTrips, (std::uint64_t seed)) {
  RandomChoices choices{rc::Random(seed)};
  const std::string text = generate_broken_text(choices, {});
  const Result<Case> parsed = parse_case(text);
  if (!parsed) {
    RC_ASSERT(!parsed.error().reason.empty());
    RC_ASSERT(!parsed.error().has_position() || parsed.error().position <= text.size());
    return;
  }
  const Result<Case> again = parse_case(to_text(*parsed));
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == *parsed);
}

TEST(BrokenText, IsMostlyRefused) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    RandomChoices choices{rc::Random(seed)};
    refused += parse_case(generate_broken_text(choices, {})).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 600);
}

}  // namespace
}  // namespace reshardcheck
