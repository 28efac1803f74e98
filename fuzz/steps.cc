// The single steps of the shrinker: every small change that could make a case simpler.
//
// A step changes one thing and repairs what depends on it. When the sides are in one of the canonical arrangements,
// they stay in it, so that a smaller mesh leaves no hole among the ranks. In a mix of tensors that are built alike,
// every step is also taken on all of them at once, because a bug between tensors needs them to stay alike. Steps that
// turn out not to be simpler, or not to be cases at all, fall away.
#include <algorithm>
#include <map>
#include <optional>

#include "fuzz/edits.h"
#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

using SideMember = SideDraft TensorDraft::*;

/// What a dtype that is not u8 may become before it is u8: one of each width and kind.
constexpr DType representatives[] = {DType::i16, DType::f16, DType::bf16, DType::i32, DType::f32, DType::i64};

/// Tensors with equal numbers of dims and axes, on which one step can be taken together.
bool are_alike(const std::vector<TensorDraft>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&first = tensors.front()](const TensorDraft& tensor) {
    return tensor.shape.size() == first.shape.size() && tensor.source.extents.size() == first.source.extents.size() &&
           tensor.target.extents.size() == first.target.extents.size();
  });
}

class StepList {
 public:
  explicit StepList(const Case& value)
      : start_(value), draft_(draft_of(value)), arrangement_(arrangement_of(draft_)), simplicity_(value) {}

  std::vector<Case> collect() {
    tensors();
    options();
    ranks();
    add_moved(exchange_sides);
    for (std::size_t tensor = 0; tensor < draft_.tensors.size(); ++tensor) {
      first_ = tensor;
      last_ = tensor + 1;
      steps_of_a_tensor();
    }
    if (draft_.tensors.size() > 1 && are_alike(draft_.tensors)) {
      first_ = 0;
      last_ = draft_.tensors.size();
      steps_of_a_tensor();
    }
    std::vector<Case> result;
    result.reserve(found_.size());
    for (auto& entry : found_) result.push_back(std::move(entry.second));
    return result;
  }

 private:
  /// Adds draft_ with a change that has placed its ranks itself.
  template <typename Change>
  void add_moved(Change change) {
    CaseDraft changed = draft_;
    change(changed);
    Result<Case> value = build(changed);
    if (!value) return;
    Simplicity simplicity(*value);
    if (simplicity < simplicity_) found_.emplace(std::move(simplicity), *std::move(value));
  }

  template <typename Change>
  void add(Change change) {
    add_moved([&](CaseDraft& draft) {
      change(draft);
      if (arrangement_) arrange(draft, *arrangement_);
    });
  }

  /// A change of the tensor, or of the tensors, that it is the turn of.
  template <typename Change>
  void add_tensor(Change change) {
    add([&](CaseDraft& draft) {
      for (std::size_t tensor = first_; tensor < last_; ++tensor) change(draft.tensors[tensor]);
    });
  }

  template <typename Change>
  void add_side(SideMember side, Change change) {
    add_tensor([&](TensorDraft& tensor) { change(tensor.*side); });
  }

  void tensors() {
    for (std::size_t i = 0; draft_.tensors.size() > 1 && i < draft_.tensors.size(); ++i) {
      add([i](CaseDraft& draft) { draft.tensors.erase(draft.tensors.begin() + static_cast<std::ptrdiff_t>(i)); });
      if (i > 0) add([i](CaseDraft& draft) { std::swap(draft.tensors[i - 1], draft.tensors[i]); });
    }
  }

  /// A numeric option goes to its default, to its smallest other value, and down by one.
  template <typename Integer>
  void number(Integer Options::*option, Integer smallest) {
    const Integer value = draft_.options.*option;
    const Integer standard = Options{}.*option;
    if (value == standard) return;
    for (const Integer next : {standard, smallest, static_cast<Integer>(value - 1)}) {
      if (next < value) add([&](CaseDraft& draft) { draft.options.*option = next; });
    }
  }

  void options() {
    number<std::int64_t>(&Options::refits, 2);
    number<std::int64_t>(&Options::chunk_bytes, 1);
    number<std::int64_t>(&Options::gap_elements, 1);
    number<std::int64_t>(&Options::batch_tensors, 1);
    number<std::int64_t>(&Options::world_ranks, start_.world_ranks());
    number<std::int64_t>(&Options::domain_anchor, 1);
    number<std::uint64_t>(&Options::seed, 1);
    if (draft_.options.domain_ranks > 0) {
      add([](CaseDraft& draft) { draft.options.domain_ranks = draft.options.domain_anchor = 0; });
      for (const std::int64_t ranks : {std::int64_t{1}, draft_.options.domain_ranks - 1}) {
        if (ranks > 0) add([&](CaseDraft& draft) { draft.options.domain_ranks = ranks; });
      }
    }
    add([](CaseDraft& draft) { draft.options.fill = FillKind::digits; });
    faults();
  }

  void faults() {
    for (std::size_t i = 0; i < draft_.options.faults.size(); ++i) {
      add([i](CaseDraft& draft) {
        draft.options.faults.erase(draft.options.faults.begin() + static_cast<std::ptrdiff_t>(i));
      });
      add([i](CaseDraft& draft) { draft.options.faults[i].at -= draft.options.faults[i].at > 0 ? 1 : 0; });
      add([i](CaseDraft& draft) { draft.options.faults[i].call -= draft.options.faults[i].call > 0 ? 1 : 0; });
    }
  }

  void ranks() {
    if (arrangement_ == Arrangement::home) return;
    for (const Arrangement each : all_arrangements) {
      add_moved([each](CaseDraft& draft) { arrange(draft, each); });
    }
    add_moved(close_rank_gaps);
  }

  // ---- one tensor, or all of them ------------------------------------------------------------------------------

  const TensorDraft& current() const { return draft_.tensors[first_]; }

  void steps_of_a_tensor() {
    add_tensor([](TensorDraft& tensor) { tensor.name.clear(); });
    add_tensor([](TensorDraft& tensor) { tensor.path = Path::reshard; });
    dtype();
    for (std::size_t dim = 0; dim < current().shape.size(); ++dim) one_dim(dim);
    for (const SideMember side : {&TensorDraft::target, &TensorDraft::source}) {
      for (std::size_t axis = 0; axis < (current().*side).extents.size(); ++axis) one_axis(side, axis);
    }
  }

  void dtype() {
    if (current().dtype == DType::u8) return;
    add_tensor([](TensorDraft& tensor) { tensor.dtype = DType::u8; });
    add_tensor(make_bytes);
    for (const DType each : representatives) add_tensor([each](TensorDraft& tensor) { tensor.dtype = each; });
  }

  void one_dim(std::size_t dim) {
    const std::int64_t extent = current().shape[dim];
    const std::int64_t parts = parts_of(current(), dim);
    const bool has_next = dim + 1 < current().shape.size();
    if (parts == 1) add_tensor([dim](TensorDraft& tensor) { drop_dim(tensor, dim); });
    if (extent == 0) add_tensor([dim](TensorDraft& tensor) { set_extent(tensor, dim, 1); });
    for (const std::int64_t less : {std::int64_t{1}, must_divide(current(), dim) ? parts : 1}) {
      if (extent > less) add_tensor([&](TensorDraft& tensor) { set_extent(tensor, dim, extent - less); });
    }
    if (has_next && parts == 1 && parts_of(current(), dim + 1) == 1) {
      add_tensor([dim](TensorDraft& tensor) { merge_dims(tensor, dim); });
    }
    for (std::size_t to = 0; to < current().shape.size(); ++to) {
      if (to != dim) add_tensor([dim, to](TensorDraft& tensor) { move_dim(tensor, dim, to); });
    }
  }

  void one_axis(SideMember side, std::size_t axis) {
    const SideDraft& mesh = current().*side;
    const std::int64_t extent = mesh.extents[axis];
    add_side(side, [axis](SideDraft& changed) { drop_axis(changed, axis); });
    for (const std::int64_t fewer : {std::int64_t{1}, std::int64_t{2}, extent - 1}) {
      if (fewer >= 1 && fewer < extent) add_side(side, [&](SideDraft& changed) { shrink_axis(changed, axis, fewer); });
    }
    if (mesh.placements[axis].is_shard()) placement(side, axis);
    if (axis + 1 < mesh.extents.size()) {
      add_side(side, [axis](SideDraft& changed) { exchange_axes(changed, axis); });
      add_side(side, [axis](SideDraft& changed) { std::swap(changed.placements[axis], changed.placements[axis + 1]); });
    }
  }

  void placement(SideMember side, std::size_t axis) {
    const Placement& placed = (current().*side).placements[axis];
    const auto replace = [&](const Placement& with) {
      add_side(side, [&](SideDraft& changed) { changed.placements[axis] = with; });
    };
    replace(Placement::replicate());
    replace(Placement::shard(placed.dim));
    const std::int64_t least = placed.rule == SplitRule::strided ? 2 : 1;
    for (const std::int64_t parameter : {least, placed.parameter - 1}) {
      if (parameter < least || parameter >= placed.parameter) continue;
      Placement smaller = placed;
      smaller.parameter = parameter;
      replace(smaller);
    }
    if (placed.rule == SplitRule::padded && (current().*side).extents[axis] > 1) {
      add_side(side, [&](SideDraft& changed) {  // the multiple alone makes padding
        shrink_axis(changed, axis, 1);
        changed.placements[axis].parameter = std::max<std::int64_t>(2, placed.parameter);
      });
    }
    for (std::size_t i = 0; placed.rule == SplitRule::segments && i + 1 < placed.sizes.size(); ++i) {
      Placement merged = placed;
      merged.sizes[i] += merged.sizes[i + 1];
      merged.sizes.erase(merged.sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (merged.sizes.size() > 1) replace(merged);
    }
  }

  const Case& start_;
  CaseDraft draft_;
  std::optional<Arrangement> arrangement_;
  Simplicity simplicity_;
  std::size_t first_ = 0;  // the tensors that a step changes
  std::size_t last_ = 0;
  std::map<Simplicity, Case> found_;  // simplest first, each text once
};

}  // namespace

std::vector<Case> smaller_cases(const Case& value) { return StepList(value).collect(); }

}  // namespace reshardcheck
