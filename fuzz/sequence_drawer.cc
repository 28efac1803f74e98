// Draws sequences: a first case, then steps that share most with the step before, because state that one call leaves
// behind only harms another that is nearly the same.
#include <algorithm>
#include <span>
#include <utility>

#include "fuzz/draft.h"
#include "fuzz/relation.h"
#include "fuzz/sequence.h"
#include "fuzz/side_drawer.h"

namespace reshardcheck {
namespace {

void redraw_placements(Choices& choices, const GeneratorOptions& options, TensorDraft& tensor) {
  for (SideDraft* side : {&tensor.source, &tensor.target}) {
    side->placements = draw_placements(choices, options, tensor.shape, side->extents);
  }
}

void redraw_shape(Choices& choices, const GeneratorOptions& options, TensorDraft& tensor) {
  for (std::int64_t& extent : tensor.shape) extent = choices.between(options.min_extent, options.max_extent);
  redraw_placements(choices, options, tensor);
}

void add_tensor(Choices& choices, const GeneratorOptions& options, CaseDraft& draft) {
  TensorDraft tensor = choices.pick(std::span<const TensorDraft>(draft.tensors));
  tensor.name.clear();
  redraw_placements(choices, options, tensor);
  draft.tensors.push_back(std::move(tensor));
}

void drop_tensor(Choices& choices, CaseDraft& draft) {
  if (draft.tensors.size() < 2) return;
  draft.tensors.erase(draft.tensors.begin() + choices.below(std::ssize(draft.tensors)));
  draft.options.batch_tensors = std::min(draft.options.batch_tensors, std::ssize(draft.tensors));
}

/// The relations that keep the ranks and the tensors of a step recognisable.
Case draw_related(Choices& choices, const Case& before) {
  constexpr Relation relations[] = {Relation::to_itself,        Relation::and_back,      Relation::by_way,
                                    Relation::relabelled_ranks, Relation::another_order, Relation::transport};
  std::vector<RelatedCase> related = related_cases(before, choices.pick(std::span<const Relation>(relations)), choices);
  return related.empty() ? before : std::move(related.back().value);
}

Case draw_next(Choices& choices, const GeneratorOptions& options, const Case& before) {
  enum Kind : std::size_t { other_data, other_layouts, other_shapes, more, fewer, related, unrelated };
  constexpr int weights[] = {3, 4, 4, 2, 2, 3, 2};
  CaseDraft draft = draft_of(before);
  draft.options.seed = static_cast<std::uint64_t>(choices.below(std::int64_t{1} << 16));
  switch (choices.weighted(weights)) {
    case other_layouts:
      for (TensorDraft& tensor : draft.tensors) redraw_placements(choices, options, tensor);
      break;
    case other_shapes:
      for (TensorDraft& tensor : draft.tensors) redraw_shape(choices, options, tensor);
      break;
    case more:
      add_tensor(choices, options, draft);
      break;
    case fewer:
      drop_tensor(choices, draft);
      break;
    case related:
      return draw_related(choices, before);
    case unrelated:
      return generate_case(choices, options);
    default:
      break;
  }
  Result<Case> next = build(draft);
  RESHARDCHECK_CHECK(next.ok());  // placements are drawn for the shapes and meshes that they meet
  return *std::move(next);
}

Fault draw_accident(Choices& choices) {
  constexpr FaultKind kinds[] = {FaultKind::drop, FaultKind::duplicate, FaultKind::truncate, FaultKind::kill};
  return {choices.pick(std::span<const FaultKind>(kinds)), 0, 0};
}

}  // namespace

Sequence draw_sequence(Choices& choices, const GeneratorOptions& options) {
  constexpr std::int64_t most_steps = 6;
  constexpr int accident_percent = 12;
  Sequence sequence{{generate_case(choices, options)}};
  const std::int64_t steps = choices.between(2, most_steps);
  while (std::ssize(sequence.steps) < steps) {
    Case before = sequence.steps.back();
    before.options.faults.clear();
    sequence.steps.push_back(draw_next(choices, options, before));
    const bool last = std::ssize(sequence.steps) == steps;
    if (!last && choices.chance(accident_percent)) sequence.steps.back().options.faults = {draw_accident(choices)};
  }
  return sequence;
}

}  // namespace reshardcheck
