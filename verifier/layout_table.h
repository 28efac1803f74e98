// LayoutTable: gives equal layouts one number, so that what depends on a layout alone is worked out once.
//
// The tensors of a large mix have few geometries (a 671B MoE has 10^5 parameters and some 20 of them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/layout.h"

namespace reshardcheck {

class LayoutTable {
 public:
  /// The number of a layout, counted from 0 in order of first sight.
  std::size_t number_of(const Layout& layout);
  [[nodiscard]] std::size_t size() const { return layouts_.size(); }
  [[nodiscard]] const Layout& layout(std::size_t number) const { return layouts_[number]; }
  void clear();

 private:
  std::vector<Layout> layouts_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
};

/// The tensors of a case that one plan serves: of equal layouts, path and width.
struct Geometry {
  std::size_t first = 0;  // the number of the first of them
  std::size_t tensors = 0;
};

/// In the order of their first tensors.
[[nodiscard]] std::vector<Geometry> distinct_geometries(const Case& value);

}  // namespace reshardcheck
