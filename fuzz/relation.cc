// Each relation is a change of the draft. What a relation does not name stays as it is, so that a difference between
// the two runs has one cause.
#include "fuzz/relation.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/layout/limits.h"
#include "fuzz/draft.h"
#include "fuzz/edits.h"
#include "fuzz/side_drawer.h"

namespace reshardcheck {
namespace {

using Drafts = std::vector<CaseDraft>;

constexpr std::string_view oracle_prefix = "relation:";

std::vector<std::int64_t> draw_permutation(Choices& choices, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t left = count; left > 1; --left) {
    std::swap(order[static_cast<std::size_t>(left - 1)], order[static_cast<std::size_t>(choices.below(left))]);
  }
  return order;
}

template <typename Change>
void for_each_side(CaseDraft& draft, Change change) {
  for (TensorDraft& tensor : draft.tensors) {
    change(tensor, tensor.source);
    change(tensor, tensor.target);
  }
}

Drafts to_itself(CaseDraft draft) {
  for (TensorDraft& tensor : draft.tensors) {
    tensor.target = tensor.source;
    tensor.path = Path::reshard;
  }
  return {std::move(draft)};
}

Drafts and_back(CaseDraft draft) {
  for (TensorDraft& tensor : draft.tensors) std::swap(tensor.source, tensor.target);
  return {std::move(draft)};
}

/// A layout on the way: the mesh of one of the sides, cut in another way. Rules with sizes of their own are left out,
/// because drawing sizes costs in proportion to the tensor.
SideDraft draw_way(Choices& choices, const TensorDraft& tensor) {
  GeneratorOptions options;
  options.rules = {SplitRule::chunk, SplitRule::balanced, SplitRule::even, SplitRule::padded, SplitRule::strided};
  SideDraft way = choices.chance(50) ? tensor.source : tensor.target;
  way.placements = draw_placements(choices, options, tensor.shape, way.extents);
  return way;
}

Drafts by_way(const CaseDraft& draft, Choices& choices) {
  CaseDraft first = draft;
  CaseDraft second = draft;
  for (std::size_t i = 0; i < draft.tensors.size(); ++i) {
    const SideDraft way = draw_way(choices, draft.tensors[i]);
    first.tensors[i].target = way;
    second.tensors[i].source = way;
  }
  return {std::move(first), std::move(second)};
}

Drafts relabelled_ranks(CaseDraft draft, std::int64_t world_ranks, Choices& choices) {
  const std::vector<std::int64_t> label = draw_permutation(choices, world_ranks);
  for_each_side(draft, [&](TensorDraft&, SideDraft& side) {
    for (Rank& rank : side.ranks) rank = static_cast<Rank>(label[static_cast<std::size_t>(rank)]);
  });
  return {std::move(draft)};
}

/// Exchanges two neighbouring axes together with the ranks, which keep what they hold: the two axes act on different
/// dims, or one of them on none.
void exchange_axes_and_ranks(SideDraft& side, std::size_t axis) {
  std::int64_t inner = 1;  // ranks that the axes after the two tell apart
  for (std::size_t i = axis + 2; i < side.extents.size(); ++i) inner *= side.extents[i];
  const std::int64_t first = side.extents[axis];
  const std::int64_t second = side.extents[axis + 1];
  std::vector<Rank> moved(side.ranks.size());
  for (std::int64_t index = 0; index < std::ssize(moved); ++index) {
    const std::int64_t rest = index % inner;
    const std::int64_t b = index / inner % second;
    const std::int64_t a = index / inner / second % first;
    const std::int64_t outer = index / inner / second / first;
    const std::int64_t to = ((outer * second + b) * first + a) * inner + rest;
    moved[static_cast<std::size_t>(to)] = side.ranks[static_cast<std::size_t>(index)];
  }
  exchange_axes(side, axis);
  side.ranks = std::move(moved);
}

bool commute(const Placement& a, const Placement& b) { return a.is_replicate() || b.is_replicate() || a.dim != b.dim; }

Drafts permuted_axes(CaseDraft draft, Choices& choices) {
  bool changed = false;
  for_each_side(draft, [&](TensorDraft&, SideDraft& side) {
    for (std::size_t axis = 0; axis + 1 < side.extents.size(); ++axis) {
      if (!commute(side.placements[axis], side.placements[axis + 1])) continue;
      if (changed && choices.chance(50)) continue;
      exchange_axes_and_ranks(side, axis);
      changed = true;
    }
  });
  if (!changed) return {};
  return {std::move(draft)};
}

Drafts another_order(const CaseDraft& draft, Choices& choices) {
  CaseDraft moved = draft;
  const std::vector<std::int64_t> order = draw_permutation(choices, std::ssize(draft.tensors));
  for (std::size_t i = 0; i < order.size(); ++i) moved.tensors[i] = draft.tensors[static_cast<std::size_t>(order[i])];
  return {std::move(moved)};
}

Drafts one_alone(CaseDraft draft, Choices& choices) {
  if (draft.tensors.size() < 2) return {};
  draft.tensors = {draft.tensors[static_cast<std::size_t>(choices.below(std::ssize(draft.tensors)))]};
  return {std::move(draft)};
}

Drafts bytes_of_elements(CaseDraft draft) {
  bool changed = false;
  for (TensorDraft& tensor : draft.tensors) {
    if (width_bytes(tensor.dtype) == 1 || std::ssize(tensor.shape) >= limits::max_dims) continue;
    make_bytes(tensor);
    changed = true;
  }
  if (!changed) return {};
  return {std::move(draft)};
}

bool cuts_dim(const SideDraft& side, std::size_t dim) {
  return std::any_of(side.placements.begin(), side.placements.end(),
                     [dim](const Placement& placement) { return placement.dim == static_cast<int>(dim); });
}

/// A dtype as wide as the last dim of a tensor of bytes, when no rank holds a part of that dim only.
std::optional<DType> draw_wide_dtype(const TensorDraft& tensor, Choices& choices) {
  if (width_bytes(tensor.dtype) != 1 || tensor.shape.empty() || tensor.shape.back() < 2) return std::nullopt;
  const std::size_t last = tensor.shape.size() - 1;
  if (cuts_dim(tensor.source, last) || cuts_dim(tensor.target, last)) return std::nullopt;
  std::vector<DType> wide;
  for (const DType dtype : all_dtypes) {
    if (width_bytes(dtype) == tensor.shape.back()) wide.push_back(dtype);
  }
  if (wide.empty()) return std::nullopt;
  return choices.pick(std::span<const DType>(wide));
}

Drafts elements_of_bytes(CaseDraft draft, Choices& choices) {
  bool changed = false;
  for (TensorDraft& tensor : draft.tensors) {
    const std::optional<DType> wide = draw_wide_dtype(tensor, choices);
    if (!wide) continue;
    tensor.dtype = *wide;
    tensor.shape.pop_back();
    changed = true;
  }
  if (!changed) return {};
  return {std::move(draft)};
}

Drafts transport(CaseDraft draft, std::int64_t world_ranks, Choices& choices) {
  constexpr std::int64_t chunks[] = {0, 1, 2, 3, 4, 5, 8, 16, 64};
  Options& options = draft.options;
  options.chunk_bytes = choices.pick(std::span<const std::int64_t>(chunks));
  options.gap_elements = choices.below(3);
  options.batch_tensors = choices.between(0, std::ssize(draft.tensors) - 1);
  options.domain_ranks = choices.below(std::min<std::int64_t>(world_ranks, 8) + 1);
  options.domain_anchor = options.domain_ranks > 1 ? choices.below(options.domain_ranks) : 0;
  options.seed = static_cast<std::uint64_t>(choices.below(std::int64_t{1} << 16));
  return {std::move(draft)};
}

Drafts derive(const Case& value, Relation relation, Choices& choices) {
  const CaseDraft draft = draft_of(value);
  switch (relation) {
    case Relation::to_itself:
      return to_itself(draft);
    case Relation::and_back:
      return and_back(draft);
    case Relation::by_way:
      return by_way(draft, choices);
    case Relation::relabelled_ranks:
      return relabelled_ranks(draft, value.world_ranks(), choices);
    case Relation::permuted_axes:
      return permuted_axes(draft, choices);
    case Relation::another_order:
      return another_order(draft, choices);
    case Relation::one_alone:
      return one_alone(draft, choices);
    case Relation::bytes_of_elements:
      return bytes_of_elements(draft);
    case Relation::elements_of_bytes:
      return elements_of_bytes(draft, choices);
    case Relation::transport:
      return transport(draft, value.world_ranks(), choices);
  }
  return {};
}

}  // namespace

std::string_view name(Relation relation) {
  constexpr std::string_view names[] = {"to_itself",         "and_back",      "by_way",    "relabelled_ranks",
                                        "permuted_axes",     "another_order", "one_alone", "bytes_of_elements",
                                        "elements_of_bytes", "transport"};
  static_assert(std::size(names) == std::size(all_relations));
  return names[static_cast<std::size_t>(relation)];
}

std::string_view sentence(Relation relation) {
  constexpr std::string_view sentences[] = {
      "its source layout to itself does not",       "the way back does not",
      "the way over another layout does not",       "the same with other ranks does not",
      "the same with mesh axes exchanged does not", "the same tensors in another order do not",
      "one of its tensors alone does not",          "the same data as bytes does not",
      "the same bytes as wider elements do not",    "the same with other transport options does not"};
  static_assert(std::size(sentences) == std::size(all_relations));
  return sentences[static_cast<std::size_t>(relation)];
}

std::vector<RelatedCase> related_cases(const Case& value, Relation relation, Choices& choices) {
  std::vector<RelatedCase> related;
  if (!value.options.faults.empty()) return related;
  for (const CaseDraft& draft : derive(value, relation, choices)) {
    Result<Case> derived = build(draft);
    if (derived.ok() && !(*derived == value)) related.push_back({relation, *std::move(derived)});
  }
  return related;
}

std::vector<RelatedCase> related_cases(const Case& value, Choices& choices) {
  std::vector<RelatedCase> related;
  for (const Relation relation : all_relations) {
    for (RelatedCase& each : related_cases(value, relation, choices)) related.push_back(std::move(each));
  }
  return related;
}

Verdict relation_verdict(Relation relation, Verdict verdict) {
  verdict.oracle = std::string(oracle_prefix) + std::string(name(relation));
  verdict.detail = "the case passes, but " + std::string(sentence(relation)) + ": " + verdict.detail;
  return verdict;
}

bool names_relation(const Verdict& verdict) { return verdict.oracle.starts_with(oracle_prefix); }

}  // namespace reshardcheck
