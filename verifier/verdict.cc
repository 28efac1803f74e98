// The names of verdicts, as reports and files spell them.
#include "verifier/verdict.h"

#include <array>

namespace reshardcheck {
namespace {

constexpr std::array<std::string_view, verdict_kinds> names = {
    "pass",  "mismatch",         "unwritten",      "guard", "source_modified",
    "stale", "excess_traffic",   "disagree",       "error", "crash",
    "hang",  "invalid_accepted", "valid_rejected", "flaky", "unsupported"};

}  // namespace

std::string_view name(VerdictKind kind) { return names[static_cast<std::size_t>(kind)]; }

std::optional<VerdictKind> parse_verdict_kind(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<VerdictKind>(i);
  }
  return std::nullopt;
}

bool is_failure(VerdictKind kind) { return kind != VerdictKind::pass && kind != VerdictKind::unsupported; }

}  // namespace reshardcheck
