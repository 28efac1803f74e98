// Simplicity: how complicated a case is to a person, as a total order.
//
// Compared weight by weight, the first difference decides:
//    1. tensors
//    2. features beyond the plain case, one point each: an option that is not at its default (but for fill), a fault,
//       a name, a dtype other than u8, the gather_broadcast path, a sharding axis with a rule other than chunk, a dim
//       of extent 0, a rank list that does not count up by one, sides that are not at home (source ranks from 0,
//       target right after)
//    3. ranks of the world     4. axes     5. sharding axes     6. those of the target     7. dims     8. elements
//    9. sizes of options, the fill, rules and their parameters     10. dtypes, shapes and meshes     11. the text
// The order is the shrinker's: a step must go down in it, and the smallest failing case of a bound is one case.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout/case.h"

namespace reshardcheck {

class Simplicity {
 public:
  explicit Simplicity(const Case& value);

  [[nodiscard]] const std::string& text() const { return text_; }
  friend bool operator<(const Simplicity& a, const Simplicity& b) {
    return a.weights_ != b.weights_ ? a.weights_ < b.weights_ : a.text_ < b.text_;
  }

 private:
  std::vector<std::int64_t> weights_;
  std::string text_;
};

/// True when a is simpler than b.
[[nodiscard]] bool simpler(const Case& a, const Case& b);

/// The features of point 2, counted.
[[nodiscard]] std::int64_t feature_points(const Case& value);

}  // namespace reshardcheck
