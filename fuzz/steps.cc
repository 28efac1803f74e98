// The single steps of the shrinker: every small change that could make a case simpler.
//
// A step changes one thing and repairs what depends on it. When the sides are in one of the canonical arrangements,
// they stay in it, so that a smaller mesh leaves no hole among the ranks. Steps that turn out not to be simpler, or
// not to be cases at all, fall away at the end.
#include <algorithm>
#include <map>

#include "core/layout/notation.h"
#include "fuzz/edits.h"
#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

class StepList {
 public:
  explicit StepList(const Case& value) : start_(value), draft_(draft_of(value)), simplicity_(value) {
    for (const Arrangement each : all_arrangements) {
      if (!arrangement_ && is_arranged(draft_, each)) arrangement_ = each;
    }
  }

  std::vector<Case> collect() {
    tensors();
    options();
    ranks();
    for (std::size_t tensor = 0; tensor < draft_.tensors.size(); ++tensor) {
      scalars(tensor);
      dims(tensor);
      for (SideDraft TensorDraft::* const side : {&TensorDraft::target, &TensorDraft::source}) sides(tensor, side);
      exchanges(tensor);
    }
    std::vector<Case> result;
    result.reserve(found_.size());
    for (auto& entry : found_) result.push_back(std::move(entry.second));
    return result;
  }

 private:
  /// Adds draft_ with one change.
  template <typename Change>
  void add(Change change) {
    CaseDraft changed = draft_;
    change(changed);
    if (arrangement_ && changed.tensors != draft_.tensors && ranks_follow_) arrange(changed, *arrangement_);
    Result<Case> value = build(changed);
    if (!value) return;
    Simplicity simplicity(*value);
    if (simplicity < simplicity_) found_.emplace(std::move(simplicity), *std::move(value));
  }

  template <typename Change>
  void add_tensor(std::size_t tensor, Change change) {
    add([&](CaseDraft& draft) { change(draft.tensors[tensor]); });
  }

  template <typename Change>
  void add_side(std::size_t tensor, SideDraft TensorDraft::* side, Change change) {
    add([&](CaseDraft& draft) { change(draft.tensors[tensor].*side); });
  }

  void tensors() {
    for (std::size_t i = 0; draft_.tensors.size() > 1 && i < draft_.tensors.size(); ++i) {
      add([i](CaseDraft& draft) { draft.tensors.erase(draft.tensors.begin() + static_cast<std::ptrdiff_t>(i)); });
    }
  }

  /// A numeric option goes to its default, to its smallest other value, and down by one.
  template <typename Integer>
  void number(Integer Options::* option, Integer smallest) {
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
    for (std::size_t i = 0; i < draft_.options.faults.size(); ++i) {
      add([i](CaseDraft& draft) { draft.options.faults.erase(draft.options.faults.begin() + static_cast<std::ptrdiff_t>(i)); });
      add([i](CaseDraft& draft) { draft.options.faults[i].at -= draft.options.faults[i].at > 0 ? 1 : 0; });
      add([i](CaseDraft& draft) { draft.options.faults[i].call -= draft.options.faults[i].call > 0 ? 1 : 0; });
    }
  }

  void ranks() {
    if (arrangement_ == Arrangement::home) return;
    ranks_follow_ = false;
    for (const Arrangement each : all_arrangements) {
      add([each](CaseDraft& draft) { arrange(draft, each); });
    }
    add(close_rank_gaps);
    ranks_follow_ = true;
  }

  void scalars(std::size_t tensor) {
    add_tensor(tensor, [](TensorDraft& changed) { changed.name.clear(); });
    add_tensor(tensor, [](TensorDraft& changed) { changed.dtype = DType::u8; });
    add_tensor(tensor, [](TensorDraft& changed) { changed.path = Path::reshard; });
  }

  void dims(std::size_t tensor) {
    const TensorDraft& current = draft_.tensors[tensor];
    for (std::size_t dim = 0; dim < current.shape.size(); ++dim) {
      if (parts_of(current, dim) == 1) add_tensor(tensor, [dim](TensorDraft& changed) { drop_dim(changed, dim); });
      if (current.shape[dim] == 0) add_tensor(tensor, [dim](TensorDraft& changed) { set_extent(changed, dim, 1); });
      const std::int64_t step = must_divide(current, dim) ? parts_of(current, dim) : 1;
      for (const std::int64_t less : {std::int64_t{1}, step}) {
        if (current.shape[dim] <= less) continue;
        add_tensor(tensor, [&](TensorDraft& changed) { set_extent(changed, dim, current.shape[dim] - less); });
      }
    }
  }

  void sides(std::size_t tensor, SideDraft TensorDraft::* side) {
    const SideDraft& current = draft_.tensors[tensor].*side;
    for (std::size_t axis = 0; axis < current.extents.size(); ++axis) {
      add_side(tensor, side, [axis](SideDraft& changed) { drop_axis(changed, axis); });
      for (const std::int64_t extent : {current.extents[axis] - 1, std::int64_t{2}}) {
        if (extent < 2 || extent >= current.extents[axis]) continue;
        add_side(tensor, side, [&](SideDraft& changed) { shrink_axis(changed, axis, extent); });
      }
      if (current.placements[axis].is_shard()) placements(tensor, side, axis);
    }
  }

  void placements(std::size_t tensor, SideDraft TensorDraft::* side, std::size_t axis) {
    const Placement& current = (draft_.tensors[tensor].*side).placements[axis];
    const auto replace = [&](const Placement& with) {
      add_side(tensor, side, [&](SideDraft& changed) { changed.placements[axis] = with; });
    };
    replace(Placement::replicate());
    replace(Placement::shard(current.dim));
    const std::int64_t least = current.rule == SplitRule::strided ? 2 : 1;
    for (const std::int64_t parameter : {least, current.parameter - 1}) {
      if (parameter < least || parameter >= current.parameter) continue;
      Placement smaller = current;
      smaller.parameter = parameter;
      replace(smaller);
    }
    for (std::size_t i = 0; current.rule == SplitRule::segments && i + 1 < current.sizes.size(); ++i) {
      Placement merged = current;
      merged.sizes[i] += merged.sizes[i + 1];
      merged.sizes.erase(merged.sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (merged.sizes.size() > 1) replace(merged);
    }
  }

  void exchanges(std::size_t tensor) {
    const TensorDraft& current = draft_.tensors[tensor];
    add_tensor(tensor, [](TensorDraft& changed) { std::swap(changed.source, changed.target); });
    for (std::size_t dim = 0; dim + 1 < current.shape.size(); ++dim) {
      add_tensor(tensor, [dim](TensorDraft& changed) { exchange_dims(changed, dim); });
    }
    for (SideDraft TensorDraft::* const side : {&TensorDraft::source, &TensorDraft::target}) {
      for (std::size_t axis = 0; axis + 1 < (current.*side).extents.size(); ++axis) {
        add_side(tensor, side, [axis](SideDraft& changed) { exchange_axes(changed, axis); });
      }
    }
  }

  const Case& start_;
  CaseDraft draft_;
  Simplicity simplicity_;
  std::optional<Arrangement> arrangement_;
  bool ranks_follow_ = true;
  std::map<Simplicity, Case> found_;  // simplest first, each text once
};

}  // namespace

std::vector<Case> smaller_cases(const Case& value) { return StepList(value).collect(); }

}  // namespace reshardcheck
