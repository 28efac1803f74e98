// Enumerator: every case of a bound, once, in a fixed order.
//
// It is the random search's generator driven by a counter. Layout bugs that shipped in public stacks need at most
// eight ranks, two axes and extents up to five, so visiting all of that is the strongest single tool there is. The
// order is fixed, so a bound can be cut into shards that several machines or threads visit on their own.
#pragma once

#include <cstdint>
#include <functional>

#include "core/layout/case.h"
#include "fuzz/generator.h"

namespace reshardcheck {

/// One of `count` parts of a bound: the cases whose index is `index` modulo `count`.
struct EnumerationShard {
  std::int64_t index = 0;
  std::int64_t count = 1;
};

/// How many cases the bound holds. Counting asks for every decision, so it takes a part of the time of a visit;
/// `cancelled` is asked now and then, and true ends it with what was counted so far.
std::int64_t count_cases(const GeneratorOptions& bound, const std::function<bool()>& cancelled = {});

/// Calls visit(index in the bound, case) for every case of the shard in order, until it returns false. Returns how
/// many cases it visited.
std::int64_t enumerate_cases(const GeneratorOptions& bound, const EnumerationShard& shard,
                             const std::function<bool(std::int64_t, const Case&)>& visit);

}  // namespace reshardcheck
