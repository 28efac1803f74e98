// Generator: valid cases of every kind, by construction and without rejection.
//
// One imperative generator serves the random search and the enumerator (see choices.h). What it may produce is one
// documented struct of bounds and percentages: the default is every rule, option and kind of mesh of the notation, at
// sizes where real layout bugs live (a few ranks, dims and axes, extents around multiples of the axes); small_scope()
// is the bound that the enumerator visits in full. A campaign narrows the options once per block of cases (swarm
// testing: Groce et al., ISSTA 2012), because a case that has a little of everything hides what needs much of one
// thing.
#pragma once

#include <rapidcheck/Gen.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/layout/case.h"
#include "fuzz/choices.h"
#include "fuzz/draft.h"

namespace reshardcheck {

struct GeneratorOptions {
  std::int64_t min_world_ranks = 1;  // both sides together
  std::int64_t max_world_ranks = 18;
  int min_dims = 0;
  int max_dims = 3;
  std::int64_t min_extent = 0;
  std::int64_t max_extent = 12;
  int max_axes = 3;                       // axes of one mesh
  int max_tensors = 6;                    // in a mix
  std::int64_t max_elements = INT64_MAX;  // of a tensor: extents that would make it larger become 1
  std::vector<SplitRule> rules{std::begin(all_rules), std::end(all_rules)};
  std::vector<DType> dtypes{all_dtypes.begin(), all_dtypes.end()};

  // Percentages: how often a case has the feature. 0 never, 100 always; the enumerator tries both for the rest.
  int replicate = 25;         // an axis replicates
  int same_dim = 30;          // an axis shards the dim of the axis before it
  int other_rule = 35;        // a sharding axis uses a rule other than chunk
  int mirror = 8;             // the target layout is the source layout, on other ranks or the same
  int square = 15;            // all extents are equal
  int rank_order = 25;        // a side's rank list is permuted
  int structured_order = 30;  // a permuted rank list is that of exchanged mesh axes or reversed, not any
  int rank_gaps = 15;         // ranks are left out between and before the meshes
  int overlap = 20;           // source and target share ranks
  int target_first = 25;      // the target has the lower ranks
  int idle_ranks = 10;        // ranks after the last one named
  int gather_broadcast = 15;  // a tensor goes by gather and broadcast
  int mixes = 30;             // more than one tensor
  int models = 40;            // a mix is a small transformer rather than unrelated tensors
  int domains = 30;           // domain=
  int refits = 20;            // refits=
  int chunks = 25;            // chunk=
  int gaps = 15;              // gap=
  int batches = 20;           // batch=, of mixes
  int fills = 20;             // fill= other than digits
  int seeds = 50;             // seed=, which also chooses the order of delivery

  /// The bound of the enumerator: one u8 tensor, rules R and chunk, one or two axes a side, source ranks from 0 and
  /// target ranks right after, extents from 1 to max_extent, and 0 to max_dims dims.
  static GeneratorOptions small_scope(std::int64_t max_ranks, int max_dims, std::int64_t max_extent);

  friend bool operator==(const GeneratorOptions&, const GeneratorOptions&) = default;
};

/// A random subset of the features of `options`, with random weights: what one block of a campaign generates.
GeneratorOptions draw_swarm(Choices& choices, const GeneratorOptions& options);

/// A case within the options. draw_case() makes the decisions only; the draft it returns always builds.
CaseDraft draw_case(Choices& choices, const GeneratorOptions& options);
Case generate_case(Choices& choices, const GeneratorOptions& options);

/// The same as a RapidCheck generator, for gen(Random(seed), size): `size` (0 to 100) scales ranks and extents.
rc::Gen<Case> case_generator(const GeneratorOptions& options = {});

/// How RapidCheck prints a case: its line of text.
void showValue(const Case& value, std::ostream& out);

/// A line of text that is nearly a case: a valid one, broken by a few mutations of bytes, tokens and numbers. Most
/// must be refused; those that still parse must round-trip.
std::string generate_broken_text(Choices& choices, const GeneratorOptions& options);

}  // namespace reshardcheck
