// Where two tensors differ, found by exchanging a few partial fingerprints.
//
// Both sides see the tensor as one row of elements and can give the state of any range of it. The states of the
// parts of a range add up to the range's, so a range that differs has a part that differs, with certainty. Each
// exchange cuts the range that is known to differ into `fanout` parts and compares these: for n elements that is
// log(n) / log(fanout) exchanges of 16 * fanout bytes, and each side reads its data little more than once in all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/layout/interval_list.h"
#include "core/layout/layout.h"
#include "verifier/fingerprint_function.h"

namespace reshardcheck {

/// Gives the states of ranges of global elements (row-major) on one side, summed over the side's shards.
using PartialFingerprints = std::function<std::vector<FingerprintState>(std::span<const Interval>)>;

struct LocaliseOptions {
  std::int64_t fanout = 16;           // parts that one exchange compares, at least 2
  std::int64_t granule_elements = 1;  // stop at a range of at most this many; ranges are cut at multiples of it
};

struct Difference {
  Interval elements;  // the first range that differs
  std::int64_t exchanges = 0;
};

/// The parts that an exchange compares, in ascending order: at most `fanout`, each a multiple of the granule except
/// at the end of the range. Both sides compute them alike.
std::vector<Interval> fingerprint_parts(Interval range, const LocaliseOptions& options = {});

/// The first range of [0, elements) on which the two sides differ, or nothing when their states are equal.
std::optional<Difference> first_difference(std::int64_t elements, const PartialFingerprints& mine,
                                           const PartialFingerprints& theirs, const LocaliseOptions& options = {});

/// A range of elements of a tensor as people read it: "rows 4..5 of dim 0" style indices of its first and last
/// element, such as "[4,0]..[5,7]".
std::string describe_elements(const Shape& shape, Interval elements);

/// The ranks that hold any element of the range, ascending.
std::vector<Rank> holders(const Layout& layout, Interval elements);

}  // namespace reshardcheck
