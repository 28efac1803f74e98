// Topology: which ranks share a fast link.
//
// Domains (an NVLink domain, a node) hold `domain_ranks` consecutive ranks each, counted both ways from an anchor
// rank. Without a domain size all ranks are one domain.
#pragma once

#include <cstdint>

#include "core/layout/case.h"

namespace reshardcheck {

struct Topology {
  std::int64_t domain_ranks = 0;
  std::int64_t anchor = 0;

  static Topology of(const Options& options) { return {options.domain_ranks, options.domain_anchor}; }

  /// The domain of a rank. Numbers may be negative and only say same or different.
  [[nodiscard]] std::int64_t domain_of(Rank rank) const {
    if (domain_ranks == 0) return 0;
    const std::int64_t distance = rank - anchor;
    return distance >= 0 ? distance / domain_ranks : -((-distance + domain_ranks - 1) / domain_ranks);
  }
  [[nodiscard]] bool same_domain(Rank a, Rank b) const { return domain_of(a) == domain_of(b); }

  friend bool operator==(const Topology&, const Topology&) = default;
};

}  // namespace reshardcheck
