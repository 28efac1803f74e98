// Verdict: what a run of a case showed.
//
// A small value with a named kind, one sentence a human can act on, and the first wrong elements with their
// origin. Its text depends on the case, the subject and the seed alone: no clocks, no addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/layout.h"

namespace reshardcheck {

enum class VerdictKind : std::uint8_t {
  pass,
  mismatch,   // an element holds another element's data, or bits that are nobody's
  unwritten,  // an element still holds the poison
  guard,      // a byte outside the local tensor was written
  source_modified,
  stale,           // an element holds what an earlier refit delivered
  excess_traffic,  // right bytes, but more of them crossed domains than the subject promises, or needlessly moved
  disagree,        // ranks gave different answers about the same call
  error,           // the subject reported an error of its own
  crash,
  hang,  // ranks wait for each other, or the deadline passed
  invalid_accepted,
  valid_rejected,  // the subject refused a case it claims to support
  flaky,           // fails k times of n
  unsupported,     // the subject said no, as it had declared; not a failure
};
inline constexpr int verdict_kinds = static_cast<int>(VerdictKind::unsupported) + 1;
[[nodiscard]] std::string_view name(VerdictKind kind);
[[nodiscard]] std::optional<VerdictKind> parse_verdict_kind(std::string_view text);

/// Neither pass nor unsupported.
[[nodiscard]] bool is_failure(VerdictKind kind);

/// Where a value came from: an element of a tensor of the case, or the padding or a gap of a source.
struct Origin {
  std::size_t tensor = 0;
  Shape index;           // global
  bool padding = false;  // then there is no index
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct WrongElement {
  std::size_t tensor = 0;
  Rank rank = 0;
  Shape local_index;
  Shape global_index;
  std::uint64_t expected = 0;  // bits of the element, low bytes first
  std::uint64_t got = 0;
  std::optional<Origin> origin;  // of what it got, where the fills can tell
  friend bool operator==(const WrongElement&, const WrongElement&) = default;
};

struct Verdict {
  VerdictKind kind = VerdictKind::pass;
  std::string detail;               // one sentence; empty for a pass
  std::string oracle;               // which oracle said so: "definition", "naive", "gather_broadcast", "prover", ...
  std::vector<WrongElement> wrong;  // the first few, in (tensor, rank, local index) order
  std::int64_t wrong_elements = 0;  // all of them

  static constexpr std::size_t max_wrong = 8;
  [[nodiscard]] bool failed() const { return is_failure(kind); }
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

}  // namespace reshardcheck
