// Judge: from what the ranks saw to one verdict. A pure function of its input.
//
// When a run shows several things the first of this list is the verdict:
//   crash            an exception left the subject, or an injected fault killed a rank
//   hang             ranks wait for each other, a deadline passed, a send is left that nobody receives
//   disagree, error  processes made different plans; some, or all, of the ranks that take part report an error
//   valid_rejected   all refuse a case that the subject claims to support
//   guard, source_modified, mismatch, stale, unwritten   by the checks of every rank
//   (naive, gather_broadcast: the same kinds, found by an oracle when the definition found nothing)
//   mismatch         by the fingerprint, when nothing else was found
//   prover           the plan that the subject shows is wrong though the data were right
//   excess_traffic
//   crash, error     all of this went well, and then a session did not close
// A declared refusal by all ranks, nothing touched, is `unsupported`.
//
// An element is unwritten when it held the poison in every pass, stale when it held what an earlier refit or call
// delivered, and a mismatch otherwise; its origin is decoded from the values of all passes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/layout/case.h"
#include "core/plan/prover.h"
#include "core/world/world.h"
#include "verifier/fill.h"
#include "verifier/rank_report.h"
#include "verifier/verdict.h"

namespace reshardcheck {

/// Bytes that crossed domains in a call, against what the subject promises; or bytes that moved at all in a case that
/// reshards every tensor to the layout it has.
struct TrafficExcess {
  Call call;
  std::uint64_t moved_bytes = 0;
  std::uint64_t allowed_bytes = 0;
  bool nothing_to_move = false;
};

/// A violation of the plan that the subject gave for a tensor.
struct PlanViolation {
  std::size_t tensor = 0;
  Violation violation;
};

struct Evidence {
  const Case* value = nullptr;
  const Fill* fill = nullptr;
  std::span<const RankReport> ranks;  // of all ranks, in rank order
  WorldOutcome world;                 // of the last call
  bool declared_unsupported = false;
  std::optional<TrafficExcess> excess;
  std::optional<PlanViolation> plan;
  std::optional<std::string> fingerprint;  // what the fingerprint oracle says of a tensor that did not arrive
  std::string disagreement;                // processes made different plans; nothing was run
};

Verdict judge(const Evidence& evidence);

/// What one wrong place shows.
struct PlaceFinding {
  VerdictKind kind = VerdictKind::mismatch;  // mismatch, stale or unwritten
  std::optional<Origin> origin;
  int stale_refit = -1;  // the refit that delivered a stale element, where known
};
PlaceFinding classify(const Case& value, const Fill& fill, const WrongPlace& place);

}  // namespace reshardcheck
