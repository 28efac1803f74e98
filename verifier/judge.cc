// Each step looks for one kind of evidence and says its sentence; judge() asks them in the order of the header.
#include "verifier/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace reshardcheck {
namespace {

std::string index_text(std::span<const std::int64_t> index) { return fmt::format("[{}]", fmt::join(index, ",")); }

std::string tensor_text(const Case& value, std::size_t tensor) {
  const std::string& name = value.tensors[tensor].name;
  return name.empty() ? fmt::format("tensor {}", tensor) : fmt::format("tensor {} ({})", tensor, name);
}

std::string call_text(const Case& value, Call call) {
  return value.options.refits > 1 ? fmt::format("refit {} of pass {}", call.refit, call.pass)
                                  : fmt::format("pass {}", call.pass);
}

/// "rank 3 reports an error" or "rank 3 and 2 more report an error".
std::string report_an_error(Rank first, std::size_t ranks) {
  return ranks > 1 ? fmt::format("rank {} and {} more report an error", first, ranks - 1)
                   : fmt::format("rank {} reports an error", first);
}

Verdict verdict(VerdictKind kind, std::string oracle, std::string detail) {
  Verdict result;
  result.kind = kind;
  result.oracle = std::move(oracle);
  result.detail = std::move(detail);
  return result;
}

std::optional<Verdict> crash(const Evidence& evidence) {
  for (const RankReport& rank : evidence.ranks) {
    if (rank.threw) {
      return verdict(VerdictKind::crash, "world",
                     fmt::format("an exception left the subject on rank {} in {}: {}", rank.rank,
                                 call_text(*evidence.value, rank.call), rank.exception));
    }
  }
  for (const RankReport& rank : evidence.ranks) {
    if (rank.outcome.comm == CommStatus::killed) {
      return verdict(VerdictKind::crash, "world",
                     fmt::format("rank {} was killed by the fault of the case in {}", rank.rank,
                                 call_text(*evidence.value, rank.call)));
    }
  }
  return std::nullopt;
}

bool waits_for_ever(CommStatus status) {
  return status == CommStatus::deadlock || status == CommStatus::deadline || status == CommStatus::peer_lost;
}

/// The first rank that gave up by itself, which others may be waiting for.
std::string first_error(const Evidence& evidence) {
  for (const RankReport& rank : evidence.ranks) {
    if (rank.outcome.kind != OutcomeKind::error || rank.outcome.comm != CommStatus::ok) continue;
    return fmt::format("; rank {} had reported an error: {}", rank.rank, rank.outcome.reason);
  }
  return "";
}

std::optional<Verdict> hang(const Evidence& evidence) {
  const Call call = evidence.ranks.empty() ? Call{} : evidence.ranks.front().call;
  const std::string where = call_text(*evidence.value, call);
  if (evidence.world.status != CommStatus::ok) {
    const std::string stuck = evidence.world.stuck.empty() ? "ranks wait for ever" : evidence.world.stuck;
    return verdict(VerdictKind::hang, "world",
                   fmt::format("{} in {}: {}{}", name(evidence.world.status), where, stuck, first_error(evidence)));
  }
  for (const RankReport& rank : evidence.ranks) {
    if (!waits_for_ever(rank.outcome.comm)) continue;
    return verdict(
        VerdictKind::hang, "world",
        fmt::format("{} on rank {} in {}: {}", name(rank.outcome.comm), rank.rank, where, rank.outcome.reason));
  }
  if (evidence.world.unreceived_messages > 0 && evidence.value->options.faults.empty()) {
    return verdict(
        VerdictKind::hang, "world",
        fmt::format("{} sent message{} that no rank receives, in {}: without hidden buffers the sender waits "
                    "for ever",
                    evidence.world.unreceived_messages, evidence.world.unreceived_messages == 1 ? "" : "s", where));
  }
  return std::nullopt;
}

/// Errors, disagreement and refusals, from what the ranks that take part answered.
std::optional<Verdict> answers(const Evidence& evidence) {
  const RankReport* first[3] = {};  // of each OutcomeKind
  std::size_t count[3] = {};
  for (const RankReport& rank : evidence.ranks) {
    const auto kind = static_cast<std::size_t>(rank.outcome.kind);
    if (rank.idle && rank.outcome.is_done()) continue;  // an idle rank has nothing to fail at
    if (first[kind] == nullptr) first[kind] = &rank;
    count[kind] += 1;
  }
  const RankReport* done = first[static_cast<std::size_t>(OutcomeKind::done)];
  const RankReport* refused = first[static_cast<std::size_t>(OutcomeKind::unsupported)];
  const RankReport* failed = first[static_cast<std::size_t>(OutcomeKind::error)];
  const std::size_t failures = count[static_cast<std::size_t>(OutcomeKind::error)];
  if (failed != nullptr && done == nullptr && refused == nullptr) {
    return verdict(VerdictKind::error, "outcome",
                   fmt::format("{} in {}: {}", report_an_error(failed->rank, failures),
                               call_text(*evidence.value, failed->call), failed->outcome.reason));
  }
  if (failed != nullptr) {
    return verdict(VerdictKind::disagree, "outcome",
                   fmt::format("{} in {} ({}), rank {} does not", report_an_error(failed->rank, failures),
                               call_text(*evidence.value, failed->call), failed->outcome.reason,
                               (done != nullptr ? done : refused)->rank));
  }
  if (refused != nullptr && done != nullptr) {
    return verdict(VerdictKind::disagree, "outcome",
                   fmt::format("rank {} says unsupported ({}), rank {} says done", refused->rank,
                               refused->outcome.reason, done->rank));
  }
  if (refused != nullptr && !evidence.declared_unsupported) {
    return verdict(VerdictKind::valid_rejected, "outcome",
                   fmt::format("the subject refuses a case that it claims to support: {}", refused->outcome.reason));
  }
  return std::nullopt;
}

std::optional<Verdict> guard(const Evidence& evidence) {
  for (const RankReport& rank : evidence.ranks) {
    if (!rank.stray) continue;
    const StrayWrite& stray = *rank.stray;
    const bool before = stray.offset_bytes < 0;
    const bool after = stray.offset_bytes >= stray.footprint_bytes;
    const std::string where =
        before  ? fmt::format("byte {} before the start of", -stray.offset_bytes)
        : after ? fmt::format("byte {} past the end of", stray.offset_bytes - stray.footprint_bytes + 1)
                : fmt::format("at byte {}, in the padding or a gap of,", stray.offset_bytes);
    return verdict(VerdictKind::guard, "guard",
                   fmt::format("rank {} wrote {} its local {} of {} in {}", rank.rank, where,
                               stray.side == Side::source ? "source" : "target",
                               tensor_text(*evidence.value, stray.tensor), call_text(*evidence.value, stray.call)));
  }
  return std::nullopt;
}

std::optional<Verdict> source_modified(const Evidence& evidence) {
  for (const RankReport& rank : evidence.ranks) {
    if (!rank.source_change) continue;
    const SourceChange& change = *rank.source_change;
    return verdict(VerdictKind::source_modified, "source",
                   fmt::format("rank {} changed its source of {} at local {} from {:#x} to {:#x} in {}", rank.rank,
                               tensor_text(*evidence.value, change.tensor), index_text(change.local_index),
                               change.expected, change.got, call_text(*evidence.value, change.call)));
  }
  return std::nullopt;
}

/// A wrong place with its rank and what it shows.
struct Finding {
  const WrongPlace* place;
  Rank rank;
  PlaceFinding shows;

  [[nodiscard]] std::uint64_t got() const { return place->got[static_cast<std::size_t>(place->call.pass)]; }
};

/// All kept places of one oracle, in (tensor, rank, local index) order.
std::vector<Finding> findings_of(const Evidence& evidence, DataReport RankReport::*oracle) {
  struct Found {
    const WrongPlace* place;
    Rank rank;
  };
  std::vector<Found> found;
  for (const RankReport& rank : evidence.ranks) {
    for (const WrongPlace& place : (rank.*oracle).places) found.push_back({&place, rank.rank});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.place->tensor, a.rank, a.place->local_offset) <
           std::tie(b.place->tensor, b.rank, b.place->local_offset);
  });
  std::vector<Finding> findings;
  findings.reserve(found.size());
  for (const Found& each : found) {
    findings.push_back({each.place, each.rank, classify(*evidence.value, *evidence.fill, *each.place)});
  }
  return findings;
}

std::int64_t target_elements(const Case& value) {
  std::int64_t total = 0;
  for (const TensorCase& tensor : value.tensors) {
    for (std::size_t i = 0; i < tensor.target.mesh().size(); ++i) total += tensor.target.owned_elements(i);
  }
  return total;
}

std::string origin_text(const Case& value, const Finding& finding) {
  const std::optional<Origin>& origin = finding.shows.origin;
  if (!origin) return fmt::format("{:#x} (nobody's data)", finding.got());
  if (origin->padding) return "padding of a source";
  std::string text = "element " + index_text(origin->index);
  if (origin->tensor != finding.place->tensor) text += " of " + tensor_text(value, origin->tensor);
  return text;
}

std::string data_sentence(const Case& value, const Finding& finding, std::int64_t wrong) {
  const WrongPlace& place = *finding.place;
  const std::string element =
      "element " + index_text(global_index_of(value.tensors[place.tensor].shape(), place.global_index));
  std::string what;
  switch (finding.shows.kind) {
    case VerdictKind::unwritten:
      what = fmt::format("rank {} never received {}", finding.rank, element);
      break;
    case VerdictKind::stale:
      what = fmt::format("rank {} holds old data ({} of {}) where {} of {} belongs", finding.rank,
                         origin_text(value, finding),
                         finding.shows.stale_refit >= 0 ? fmt::format("refit {}", finding.shows.stale_refit)
                                                        : std::string("an earlier call"),
                         element, call_text(value, place.call));
      break;
    default:
      what = fmt::format("rank {} holds {} where {} belongs", finding.rank, origin_text(value, finding), element);
  }
  return fmt::format("{} ({}, local {}); {} of {} elements wrong", what, tensor_text(value, place.tensor),
                     index_text(place.local_index), wrong, target_elements(value));
}

/// The verdict of one data oracle, or nothing when it found no wrong element.
std::optional<Verdict> data(const Evidence& evidence, DataReport RankReport::*oracle, std::string oracle_name) {
  std::int64_t wrong = 0;
  for (const RankReport& rank : evidence.ranks) wrong += (rank.*oracle).wrong_elements;
  if (wrong == 0) return std::nullopt;
  const std::vector<Finding> findings = findings_of(evidence, oracle);
  const Finding* worst = nullptr;
  for (const VerdictKind kind : {VerdictKind::mismatch, VerdictKind::stale, VerdictKind::unwritten}) {
    for (const Finding& finding : findings) {
      if (worst == nullptr && finding.shows.kind == kind) worst = &finding;
    }
  }
  Verdict result = verdict(worst->shows.kind, std::move(oracle_name), data_sentence(*evidence.value, *worst, wrong));
  result.wrong_elements = wrong;
  for (const Finding& finding : findings) {
    if (result.wrong.size() == Verdict::max_wrong) break;
    const WrongPlace& place = *finding.place;
    const Shape& shape = evidence.value->tensors[place.tensor].shape();
    result.wrong.push_back({place.tensor, finding.rank, place.local_index, global_index_of(shape, place.global_index),
                            place.expected, finding.got(), finding.shows.origin});
  }
  return result;
}

/// The oracles that look again at data that the definition found right. A disagreement between them and core/layout
/// is a bug of the checker, and better shown than hidden.
std::optional<Verdict> second_opinions(const Evidence& evidence) {
  for (const RankReport& rank : evidence.ranks) {
    if (!rank.naive_disagreement.empty()) return verdict(VerdictKind::error, "naive", rank.naive_disagreement);
  }
  if (std::optional<Verdict> found = data(evidence, &RankReport::naive, "naive")) return found;
  for (const RankReport& rank : evidence.ranks) {
    if (!rank.gather_broadcast_failure.empty()) {
      return verdict(VerdictKind::error, "gather_broadcast", rank.gather_broadcast_failure);
    }
  }
  if (std::optional<Verdict> found = data(evidence, &RankReport::gather_broadcast, "gather_broadcast")) return found;
  if (evidence.fingerprint) return verdict(VerdictKind::mismatch, "fingerprint", *evidence.fingerprint);
  return std::nullopt;
}

VerdictKind kind_of(ViolationKind violation) {
  switch (violation) {
    case ViolationKind::never_written:
      return VerdictKind::unwritten;
    case ViolationKind::unmatched:
    case ViolationKind::cyclic_wait:
      return VerdictKind::hang;
    default:
      return VerdictKind::mismatch;
  }
}

std::optional<Verdict> plan_and_traffic(const Evidence& evidence) {
  if (evidence.plan) {
    return verdict(kind_of(evidence.plan->violation.kind), "prover",
                   fmt::format("the data arrived, but the subject's plan does not prove ({}): {}",
                               tensor_text(*evidence.value, evidence.plan->tensor), evidence.plan->violation.text));
  }
  if (evidence.excess && evidence.excess->nothing_to_move) {
    return verdict(VerdictKind::excess_traffic, "traffic",
                   fmt::format("{} bytes moved in {}, though every rank held what it needs",
                               evidence.excess->moved_bytes, call_text(*evidence.value, evidence.excess->call)));
  }
  if (evidence.excess) {
    return verdict(VerdictKind::excess_traffic, "traffic",
                   fmt::format("{} bytes crossed domains in {}, {} would do", evidence.excess->moved_bytes,
                               call_text(*evidence.value, evidence.excess->call), evidence.excess->allowed_bytes));
  }
  return std::nullopt;
}

std::optional<Verdict> refusal(const Evidence& evidence) {
  for (const RankReport& rank : evidence.ranks) {
    if (rank.touched) {
      return verdict(VerdictKind::mismatch, "definition",
                     fmt::format("rank {} says unsupported, yet wrote to a target", rank.rank));
    }
  }
  for (const RankReport& rank : evidence.ranks) {
    if (rank.outcome.kind == OutcomeKind::unsupported) {
      return verdict(VerdictKind::unsupported, "outcome", rank.outcome.reason);
    }
  }
  return std::nullopt;
}

std::optional<Verdict> closing(const Evidence& evidence) {
  for (const RankReport& rank : evidence.ranks) {
    if (!rank.close_failure) continue;
    return verdict(rank.close_failure->threw ? VerdictKind::crash : VerdictKind::error, "outcome",
                   fmt::format("the calls went well, but not the end of the session on rank {}: {}", rank.rank,
                               rank.close_failure->reason));
  }
  return std::nullopt;
}

}  // namespace

Verdict judge(const Evidence& evidence) {
  if (!evidence.disagreement.empty()) return verdict(VerdictKind::disagree, "plans", evidence.disagreement);
  using Step = std::optional<Verdict> (*)(const Evidence&);
  constexpr Step before_data[] = {crash, hang, answers, guard, source_modified};
  for (const Step step : before_data) {
    if (std::optional<Verdict> found = step(evidence)) return *std::move(found);
  }
  if (std::optional<Verdict> found = data(evidence, &RankReport::definition, "definition")) return *std::move(found);
  constexpr Step after_data[] = {refusal, second_opinions, plan_and_traffic, closing};
  for (const Step step : after_data) {
    if (std::optional<Verdict> found = step(evidence)) return *std::move(found);
  }
  return {};
}

}  // namespace reshardcheck
