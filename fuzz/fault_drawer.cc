// How many messages a case sends is the subject's business, so the numbers of messages and calls are guessed, small
// ones more often: every case sends a first message, few send a fiftieth.
#include "fuzz/fault_drawer.h"

#include <iterator>
#include <span>

namespace reshardcheck {
namespace {

constexpr FaultKind kinds[] = {FaultKind::drop,     FaultKind::duplicate, FaultKind::reorder, FaultKind::corrupt,
                               FaultKind::truncate, FaultKind::kill,      FaultKind::stall};
constexpr int second_fault_percent = 30;

bool strikes_a_rank(FaultKind kind) { return kind == FaultKind::kill || kind == FaultKind::stall; }

std::int64_t small_number(Choices& choices) {
  constexpr std::int64_t bounds[] = {2, 8, 48};
  constexpr int weights[] = {5, 3, 2};
  return choices.below(bounds[choices.weighted(weights)]);
}

}  // namespace

std::vector<Fault> draw_faults(Choices& choices, const Case& value) {
  std::vector<Fault> faults;
  const int count = choices.chance(second_fault_percent) ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = choices.pick(std::span<const FaultKind>(kinds));
    if (strikes_a_rank(fault.kind)) {
      fault.at = choices.below(value.world_ranks());
      fault.call = small_number(choices);
    } else {
      fault.at = small_number(choices);
    }
    faults.push_back(fault);
  }
  return faults;
}

bool would_pass_wrong_data(const Verdict& verdict) {
  return verdict.failed() &&
         (verdict.oracle == "naive" || verdict.oracle == "gather_broadcast" || verdict.oracle == "fingerprint");
}

}  // namespace reshardcheck
