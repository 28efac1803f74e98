// Power: what the search, the enumerator and a fixed matrix of layouts each find of the seeded bugs.
//
// For one mutant: campaigns from several seeds (cases until it is killed, the oracle that did it, runs to minimise,
// distinct minimal cases); the first bound of a list that holds a case it fails, with the simplest such case; and the
// matrix, judged by our oracles and by the upstream rule (upstream_rule.h). All of it depends on the options alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "fuzz/generator.h"

namespace reshardcheck {

/// A bound of the enumerator and what it is called in the score.
struct NamedBound {
  std::string name;
  GeneratorOptions bound;
};

/// From the plain small scope to those that add one feature each: every rule, every rank order, shared ranks.
std::vector<NamedBound> power_bounds();

struct PowerOptions {
  std::string subject;             // a mutant, as --subject takes it
  int seeds = 20;                  // campaigns, from seeds 1, 2, ...
  std::int64_t cases = 2'000;      // budget of each
  std::vector<NamedBound> bounds;  // tried in order
  std::vector<Case> matrix;        // judged in order until one fails
  std::function<bool()> cancelled;
};

struct PowerScore {
  std::string subject;
  int seeds = 0;
  int killed_seeds = 0;
  int flaky_seeds = 0;                       // of those, only as flaky
  std::optional<std::int64_t> median_cases;  // to kill, over the seeds that did
  std::vector<std::string> oracles;          // that killed, most frequent first
  double mean_shrink_runs = 0;
  std::int64_t max_shrink_runs = 0;
  bool one_minimal = true;          // every minimal case is
  std::vector<std::string> finals;  // distinct minimal cases, most frequent first
  std::int64_t final_ranks = 0;     // of the first of them
  std::int64_t final_tensors = 0;
  std::string bound;                       // the first bound that holds a failing case; empty: none
  std::string smallest;                    // the simplest failing case of that bound
  bool shrinks_to_smallest = false;        // no final of its bucket is less simple than that
  std::optional<std::size_t> matrix_case;  // index of the first matrix case that fails under our oracles
  std::optional<std::size_t> mod256_case;  // and under the upstream rule
};

/// Measures one subject. An Error is the user's: an unknown subject.
Result<PowerScore> measure_power(const PowerOptions& options);

}  // namespace reshardcheck
