// Prover: judges a plan without moving a byte, at any scale.
//
// It holds the plan against the two layouts alone (it shares no code with the planners) and asks:
//   1. does every transfer read from elements its sender holds (or, for a relay, has received in an earlier step)?
//   2. does it write to the places where its receiver wants those elements?
//   3. is every element of every target shard written exactly once, and nothing else?
//   4. does every send have its receive and every receive its send?
//   5. does the order of steps finish, or do ranks wait for each other in a circle?
//   6. are the bytes per link class at least the lower bound? (Each domain needs each distinct element that its
//      targets want and no source in it holds, once. Fewer bytes mean that the accounting itself is wrong.)
// A violation comes with its counterexample: ranks and intervals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/layout.h"
#include "core/plan/plan.h"
#include "core/plan/topology.h"

namespace reshardcheck {

enum class ViolationKind : std::uint8_t {
  bad_transfer,  // ranks or runs out of range, or a rank that does not take part
  not_held,      // the sender does not hold what it sends (at the offset it reads)
  misplaced,     // the receiver does not want it, or wants it elsewhere
  written_twice,
  never_written,
  unmatched,  // a send without a receive or the reverse
  cyclic_wait,
  below_bound,  // fewer bytes than any correct plan can move
};
[[nodiscard]] std::string_view name(ViolationKind kind);

struct Violation {
  ViolationKind kind = ViolationKind::bad_transfer;
  std::string text;  // one sentence with ranks and intervals
};

/// Elements moved, by link class. A copy within a rank is on no link.
struct LinkElements {
  std::int64_t local = 0;
  std::int64_t within_domains = 0;
  std::int64_t across_domains = 0;
  friend bool operator==(const LinkElements&, const LinkElements&) = default;
};

struct Proof {
  std::vector<Violation> violations;  // at most `max_violations`, in the order of the questions above
  LinkElements moved;
  std::int64_t across_domains_bound = 0;  // the least that any correct plan moves across domains
  std::int64_t messages = 0;
  std::int64_t largest_send_elements = 0;     // of one rank
  std::int64_t largest_receive_elements = 0;  // of one rank

  static constexpr std::size_t max_violations = 8;
  [[nodiscard]] bool holds() const { return violations.empty(); }
};

Proof prove(const Plan& plan, const Layout& source, const Layout& target, const Topology& topology);

/// The lower bound alone, in elements: what any correct reshard moves across domains.
std::int64_t across_domains_bound(const Layout& source, const Layout& target, const Topology& topology);

}  // namespace reshardcheck
