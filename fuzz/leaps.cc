#include "fuzz/leaps.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/layout/option_table.h"
#include "fuzz/edits.h"

namespace reshardcheck {
namespace {

using SideMember = SideDraft TensorDraft::*;
constexpr SideMember sides[] = {&TensorDraft::target, &TensorDraft::source};

/// The geometry of a tiny case: a shape, and a mesh of one axis a side.
struct Template {
  Shape shape = {};
  std::int64_t source_ranks = 1;
  std::int64_t target_ranks = 1;
  Placement source = Placement::replicate();
  Placement target = Placement::replicate();
};

/// Tiny cases, each the simplest in which something can go wrong that cannot before: nothing at all, more than one
/// element, more target replicas than sources, a cut source, a cut target, a cut dim that is not the innermost of
/// three. Those with more dims or more cuts than the draft has are left out.
std::vector<Template> templates(const CaseDraft& draft) {
  const Placement whole = Placement::replicate();
  const Placement cut = Placement::shard(0);
  std::vector<Template> result = {{{}, 1, 1, whole, whole}, {{2}, 1, 1, whole, whole}, {{}, 1, 2, whole, whole}};
  std::size_t dims = 0;
  bool cuts = false;
  for (const TensorDraft& tensor : draft.tensors) {
    dims = std::max(dims, tensor.shape.size());
    for (const SideMember side : sides) {
      const std::vector<Placement>& placements = (tensor.*side).placements;
      cuts = cuts ||
             std::any_of(placements.begin(), placements.end(), [](const Placement& each) { return each.is_shard(); });
    }
  }
  if (cuts) {
    result.push_back({{2}, 2, 1, cut, whole});
    result.push_back({{2}, 1, 2, whole, cut});
  }
  if (cuts && dims > 2) result.push_back({{1, 2, 2}, 1, 1, whole, Placement::shard(1)});
  return result;
}

void apply(const Template& simple, TensorDraft& tensor) {
  tensor.shape = simple.shape;
  tensor.source = {{simple.source_ranks}, {}, {simple.source}};
  tensor.target = {{simple.target_ranks}, {}, {simple.target}};
}

TensorDraft plain_tensor(const Template& simple) {
  TensorDraft tensor;
  apply(simple, tensor);
  arrange(tensor, Arrangement::home);
  return tensor;
}

void for_each_side(CaseDraft& draft, const std::function<void(TensorDraft&, SideDraft&)>& visit) {
  for (TensorDraft& tensor : draft.tensors) {
    for (const SideMember side : sides) visit(tensor, tensor.*side);
  }
}

bool has_plain_options(const CaseDraft& draft) { return non_default_options(draft.options).empty(); }

bool has_plain_types(const CaseDraft& draft) {
  return std::all_of(draft.tensors.begin(), draft.tensors.end(), [](const TensorDraft& tensor) {
    return tensor.name.empty() && tensor.dtype == DType::u8 && tensor.path == Path::reshard;
  });
}

/// The rules other than chunk that a draft uses, each once.
std::vector<SplitRule> other_rules(const CaseDraft& draft) {
  std::vector<SplitRule> rules;
  for (const TensorDraft& tensor : draft.tensors) {
    for (const SideMember side : sides) {
      for (const Placement& placement : (tensor.*side).placements) {
        const bool other = placement.is_shard() && placement.rule != SplitRule::chunk;
        if (other && std::find(rules.begin(), rules.end(), placement.rule) == rules.end())
          rules.push_back(placement.rule);
      }
    }
  }
  return rules;
}

/// A rule with its simplest parameters on a dim of that extent; sizes of cuts are left to the caller.
Placement simplest(SplitRule rule, int dim, std::int64_t extent) {
  Placement placement = Placement::shard(dim, rule);
  if (rule == SplitRule::strided) placement.parameter = 2;
  if (rule == SplitRule::segments) placement.sizes = {extent - extent / 2, extent / 2};
  return placement;
}

bool has_features(const CaseDraft& draft) {
  return !has_plain_options(draft) || !has_plain_types(draft) || !other_rules(draft).empty() ||
         arrangement_of(draft) != Arrangement::home;
}

bool overlaps(const TensorDraft& tensor) {
  const std::vector<Rank>& ranks = tensor.target.ranks;
  return std::any_of(tensor.source.ranks.begin(), tensor.source.ranks.end(),
                     [&](Rank rank) { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); });
}

// ---- fewer tensors ---------------------------------------------------------------------------------------------

Leap to_fewer_tensors(const CaseDraft& draft) {
  Leap leap;
  if (draft.tensors.size() == 1) return leap;
  for (std::size_t i = 0; i < draft.tensors.size(); ++i) {
    leap.changes.emplace_back([i](CaseDraft& changed) {
      if (changed.tensors.size() > i) changed.tensors = {changed.tensors[i]};
    });
  }
  // A bug between tensors needs two or more: leave them out one by one, the later ones first.
  for (std::size_t i = draft.tensors.size(); i-- > 0;) {
    leap.changes.emplace_back([i](CaseDraft& changed) {
      if (changed.tensors.size() > std::max<std::size_t>(i, 2)) {
        changed.tensors.erase(changed.tensors.begin() + static_cast<std::ptrdiff_t>(i));
      }
    });
  }
  return leap;
}

// ---- tiny cases ------------------------------------------------------------------------------------------------

/// The tiny cases as they are, once nothing but geometry is left (or several tensors, which may hide it).
Leap to_templates(const CaseDraft& draft) {
  Leap leap;
  leap.first_only = true;
  if (draft.tensors.size() == 1 && has_features(draft)) return leap;
  for (std::size_t tensors = 1; tensors <= std::min<std::size_t>(draft.tensors.size(), 2); ++tensors) {
    for (const Template& simple : templates(draft)) {
      leap.changes.emplace_back([tensors, simple](CaseDraft& changed) {
        changed = {std::vector<TensorDraft>(tensors, plain_tensor(simple)), {}};
      });
    }
  }
  return leap;
}

/// A history of calls: what shows in batches or refits mostly shows in refits of one tensor.
Leap to_refits(const CaseDraft& draft) {
  Leap leap;
  leap.first_only = true;
  if (draft.options.refits == 1 && draft.options.batch_tensors == 0) return leap;
  for (const std::int64_t refits : {2, 5}) {
    leap.changes.emplace_back([refits](CaseDraft& changed) {
      changed = {{plain_tensor({})}, {}};
      changed.options.refits = refits;
    });
  }
  return leap;
}

/// A bug of domains depends on their size, where they begin and how many replicas lie in each: all small
/// combinations, the fewest ranks first.
Leap to_small_domains(const CaseDraft& draft) {
  Leap leap;
  leap.first_only = true;
  if (draft.options.domain_ranks == 0 || draft.tensors.size() > 1) return leap;
  constexpr std::int64_t most_ranks = 4;
  for (std::int64_t ranks = 2; ranks <= most_ranks; ++ranks) {
    for (std::int64_t domain = 1; domain < ranks; ++domain) {
      for (std::int64_t anchor = 0; anchor < std::min<std::int64_t>(domain, 2); ++anchor) {
        for (std::int64_t sources = 1; sources < std::min<std::int64_t>(ranks, 3); ++sources) {
          leap.changes.emplace_back([=](CaseDraft& changed) {
            changed = {{plain_tensor({{}, sources, ranks - sources, Placement::replicate(), Placement::replicate()})},
                       {}};
            changed.options.domain_ranks = domain;
            changed.options.domain_anchor = anchor;
          });
        }
      }
    }
  }
  return leap;
}

/// The canonical arrangements that stand for the draft's: its own, or the simplest of its kind.
std::vector<Arrangement> similar_arrangements(const CaseDraft& draft) {
  const std::optional<Arrangement> arrangement = arrangement_of(draft);
  if (std::any_of(draft.tensors.begin(), draft.tensors.end(), overlaps))
    return {Arrangement::together, Arrangement::source_second};
  if (arrangement) return {*arrangement};
  return {Arrangement::target_first, Arrangement::source_exchanged};
}

/// The tiny cases with the options, types, path and arrangement that could not be made plain.
Leap to_templates_with_features(const CaseDraft& draft) {
  Leap leap;
  leap.first_only = true;
  const bool at_home = arrangement_of(draft) == Arrangement::home;
  if (at_home && has_plain_types(draft) && (has_plain_options(draft) || draft.options.domain_ranks > 0)) return leap;
  for (const Template& simple : templates(draft)) {
    for (const Arrangement each : similar_arrangements(draft)) {
      leap.changes.emplace_back([simple, each](CaseDraft& changed) {
        for (TensorDraft& tensor : changed.tensors) apply(simple, tensor);
        arrange(changed, each);
      });
    }
  }
  return leap;
}

/// A rule that could not be chunk, on the smallest meshes that can tell rules apart.
Leap to_templates_with_rule(const CaseDraft& draft) {
  Leap leap;
  leap.first_only = true;
  if (draft.tensors.size() > 1) return leap;
  for (const SplitRule rule : other_rules(draft)) {
    if (rule == SplitRule::cuts) continue;
    if (rule == SplitRule::padded) {  // one rank is enough for padding
      leap.changes.emplace_back([](CaseDraft& changed) {
        apply({{1}, 1, 1, Placement::padded(0, 2), Placement::replicate()}, changed.tensors.front());
        arrange(changed, Arrangement::home);
      });
    }
    for (const auto& [extent, ranks] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {4, 3}}) {
      const Template simple{{extent}, ranks, 1, simplest(rule, 0, extent), Placement::replicate()};
      leap.changes.emplace_back([simple](CaseDraft& changed) {
        apply(simple, changed.tensors.front());
        arrange(changed, Arrangement::home);
      });
    }
  }
  return leap;
}

/// A bug of values needs a dtype and bit patterns: the special ones, on a growing row of elements of one tensor.
Leap to_special_values(const CaseDraft& draft) {
  Leap leap;
  leap.first_only = true;
  std::vector<DType> dtypes;
  for (const TensorDraft& tensor : draft.tensors) {
    if (tensor.dtype > DType::f16) dtypes.push_back(DType::f16);  // the simplest of floating point with two bytes
    if (tensor.dtype != DType::u8) dtypes.push_back(tensor.dtype);
  }
  std::sort(dtypes.begin(), dtypes.end());
  dtypes.erase(std::unique(dtypes.begin(), dtypes.end()), dtypes.end());
  for (const std::int64_t extent : {1, 2, 4, 8, 16}) {
    for (const DType each : dtypes) {
      leap.changes.emplace_back([extent, each](CaseDraft& changed) {
        const Placement whole = Placement::replicate();
        TensorDraft tensor = plain_tensor({extent == 1 ? Shape{} : Shape{extent}, 1, 1, whole, whole});
        tensor.dtype = each;
        changed = {{tensor}, {}};
        changed.options.fill = FillKind::special;
      });
    }
  }
  return leap;
}

// ---- fewer features --------------------------------------------------------------------------------------------

void make_options_plain(CaseDraft& draft) {
  draft.options = {};
  for (TensorDraft& tensor : draft.tensors) {
    tensor.name.clear();
    tensor.dtype = DType::u8;
    tensor.path = Path::reshard;
  }
}

void make_rules_plain(CaseDraft& draft) {
  for_each_side(draft, [](TensorDraft&, SideDraft& side) {
    for (Placement& placement : side.placements) {
      if (placement.is_shard()) placement = Placement::shard(placement.dim);
    }
  });
}

/// All features away at once.
Leap to_plain(const CaseDraft&) {
  Leap leap;
  leap.changes.emplace_back([](CaseDraft& changed) {
    make_options_plain(changed);
    make_rules_plain(changed);
    arrange(changed, Arrangement::home);
  });
  return leap;
}

/// Features away in groups.
Leap to_fewer_features(const CaseDraft&) {
  Leap leap;
  leap.changes = {[](CaseDraft& changed) { arrange(changed, Arrangement::home); }, make_rules_plain,
                  make_options_plain};
  return leap;
}

/// Something among the options matters: find out what by leaving out one at a time.
Leap to_fewer_options(const CaseDraft& draft) {
  Leap leap;
  if (has_plain_options(draft) && has_plain_types(draft)) return leap;
  leap.changes = {[](CaseDraft& changed) { changed.options.seed = 0; },
                  [](CaseDraft& changed) { changed.options.refits = 1; },
                  [](CaseDraft& changed) { changed.options.chunk_bytes = 0; },
                  [](CaseDraft& changed) { changed.options.gap_elements = 0; },
                  [](CaseDraft& changed) { changed.options.batch_tensors = 0; },
                  [](CaseDraft& changed) { changed.options.world_ranks = 0; },
                  [](CaseDraft& changed) { changed.options.domain_ranks = changed.options.domain_anchor = 0; },
                  [](CaseDraft& changed) { changed.options.fill = FillKind::digits; },
                  [](CaseDraft& changed) { changed.options.faults.clear(); }};
  for (const auto part :
       {+[](TensorDraft& tensor) { tensor.name.clear(); }, +[](TensorDraft& tensor) { tensor.dtype = DType::u8; },
        +[](TensorDraft& tensor) { tensor.path = Path::reshard; }}) {
    leap.changes.emplace_back([part](CaseDraft& changed) {
      for (TensorDraft& tensor : changed.tensors) part(tensor);
    });
  }
  return leap;
}

/// Ranks that cannot be at home go to the simplest of the canonical arrangements.
Leap to_arrangement(const CaseDraft& draft) {
  Leap leap;
  leap.first_only = true;
  if (arrangement_of(draft) == Arrangement::home) return leap;
  for (const Arrangement each : all_arrangements) {
    leap.changes.emplace_back([each](CaseDraft& changed) { arrange(changed, each); });
  }
  leap.changes.emplace_back(close_rank_gaps);
  return leap;
}

/// Rules that cannot be chunk get their simplest parameters: two segments, factor two, no multiple.
Leap to_simple_rules(const CaseDraft& draft) {
  Leap leap;
  if (other_rules(draft).empty()) return leap;
  leap.changes.emplace_back([](CaseDraft& changed) {
    for_each_side(changed, [](TensorDraft& tensor, SideDraft& side) {
      for (Placement& placement : side.placements) {
        if (placement.is_replicate() || placement.rule == SplitRule::cuts) continue;
        placement = simplest(placement.rule, placement.dim, tensor.shape[static_cast<std::size_t>(placement.dim)]);
      }
    });
  });
  return leap;
}

// ---- smaller geometry ------------------------------------------------------------------------------------------

Leap to_one_side(const CaseDraft&) {
  Leap leap;
  for (const SideMember side : sides) {
    leap.changes.emplace_back([side](CaseDraft& changed) {
      change_sizes(changed, [side](CaseDraft& draft) {
        for (TensorDraft& tensor : draft.tensors) make_trivial(tensor.*side);
      });
    });
  }
  leap.changes.emplace_back(exchange_sides);
  // The other side may need a row more, or show the bug without the rule that this side needs for it.
  leap.changes.emplace_back([](CaseDraft& changed) {
    exchange_sides(changed);
    for (TensorDraft& tensor : changed.tensors) {
      for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
        if (tensor.shape[dim] < parts_of(tensor, dim)) set_extent(tensor, dim, parts_of(tensor, dim));
      }
    }
  });
  leap.changes.emplace_back([](CaseDraft& changed) {
    exchange_sides(changed);
    make_rules_plain(changed);
  });
  return leap;
}

Leap to_fewer_axes(const CaseDraft& draft) {
  Leap leap;
  for (std::size_t i = 0; i < draft.tensors.size(); ++i) {
    for (const SideMember side : sides) {
      for (std::size_t axis = (draft.tensors[i].*side).extents.size(); axis-- > 0;) {
        leap.changes.emplace_back([=](CaseDraft& changed) {
          change_sizes(changed, [=](CaseDraft& sized) {
            if (axis < (sized.tensors[i].*side).extents.size()) drop_axis(sized.tensors[i].*side, axis);
          });
        });
      }
    }
  }
  return leap;
}

/// A dim without elements gets some, in all tensors alike.
Leap to_filled_dims(const CaseDraft& draft) {
  Leap leap;
  for (const TensorDraft& tensor : draft.tensors) {
    for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
      if (tensor.shape[dim] > 0) continue;
      leap.changes.emplace_back([dim](CaseDraft& changed) {
        for (TensorDraft& each : changed.tensors) {
          if (dim < each.shape.size()) set_extent(each, dim, each.shape[dim] + 1);
        }
      });
    }
  }
  return leap;
}

/// All dims that nothing cuts, at once.
Leap to_cut_dims(const CaseDraft&) {
  Leap leap;
  leap.changes.emplace_back([](CaseDraft& changed) {
    for (TensorDraft& tensor : changed.tensors) {
      for (std::size_t dim = tensor.shape.size(); dim-- > 0;) {
        const auto cuts = [dim](const Placement& placement) { return placement.dim == static_cast<int>(dim); };
        if (std::none_of(tensor.source.placements.begin(), tensor.source.placements.end(), cuts) &&
            std::none_of(tensor.target.placements.begin(), tensor.target.placements.end(), cuts)) {
          drop_dim(tensor, dim);
        }
      }
    }
  });
  return leap;
}

// ---- sizes -----------------------------------------------------------------------------------------------------

/// An extent of an axis, or of a dim when `side` is null, and the values worth a look, smallest first.
struct Size {
  std::size_t tensor = 0;
  SideMember side = nullptr;
  std::size_t index = 0;
  std::vector<std::int64_t> values;
};

void add_size(std::vector<Size>& sizes, Size size, std::int64_t lowest, std::int64_t highest) {
  for (std::int64_t value = lowest; value <= highest; ++value) size.values.push_back(value);
  if (size.values.size() > 1) sizes.push_back(std::move(size));
}

std::vector<Size> axis_sizes(const CaseDraft& draft) {
  constexpr std::int64_t largest = 4;  // real bugs need no longer axes
  std::vector<Size> sizes;
  for (std::size_t tensor = 0; tensor < draft.tensors.size(); ++tensor) {
    for (const SideMember side : sides) {
      const SideDraft& current = draft.tensors[tensor].*side;
      for (std::size_t axis = 0; axis < current.extents.size(); ++axis) {
        add_size(sizes, {tensor, side, axis, {}}, 2, std::min(current.extents[axis], largest));
      }
    }
  }
  return sizes;
}

std::vector<Size> dim_sizes(const CaseDraft& draft) {
  std::vector<Size> sizes;
  for (std::size_t tensor = 0; tensor < draft.tensors.size(); ++tensor) {
    for (std::size_t dim = 0; dim < draft.tensors[tensor].shape.size(); ++dim) {
      const std::int64_t two_rows = 2 * parts_of(draft.tensors[tensor], dim);
      add_size(sizes, {tensor, nullptr, dim, {}}, 1, std::min(draft.tensors[tensor].shape[dim], two_rows));
    }
  }
  return sizes;
}

/// Calls visit(draft) with combinations of the sizes' values, at most `bound` of them.
void combine(const CaseDraft& draft, const std::vector<Size>& sizes, std::size_t bound,
             const std::function<void(CaseDraft&)>& visit) {
  std::vector<std::size_t> at(sizes.size(), 0);
  for (std::size_t count = 0; count < bound; ++count) {
    CaseDraft changed = draft;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      TensorDraft& tensor = changed.tensors[sizes[i].tensor];
      const std::int64_t value = sizes[i].values[at[i]];
      if (sizes[i].side == nullptr)
        set_extent(tensor, sizes[i].index, value);
      else
        shrink_axis(tensor.*sizes[i].side, sizes[i].index, value);
    }
    visit(changed);
    std::size_t digit = sizes.size();
    while (digit > 0 && ++at[digit - 1] == sizes[digit - 1].values.size()) at[--digit] = 0;
    if (digit == 0) return;
  }
}

}  // namespace

std::vector<Case> smaller_sizes(const CaseDraft& draft) {
  constexpr std::size_t bound = 60;  // of meshes, and of shapes for each
  const std::optional<Arrangement> arrangement = arrangement_of(draft);
  std::vector<std::pair<Simplicity, Case>> found;
  combine(draft, axis_sizes(draft), bound, [&](CaseDraft& meshes) {
    combine(meshes, dim_sizes(meshes), bound, [&](CaseDraft& changed) {
      if (arrangement) arrange(changed, *arrangement);
      Result<Case> value = build(changed);
      if (!value) return;
      Simplicity simplicity(*value);
      found.emplace_back(std::move(simplicity), *std::move(value));
    });
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Case> result;
  result.reserve(found.size());
  for (auto& entry : found) result.push_back(std::move(entry.second));
  return result;
}

std::span<const MakeLeap> leaps() {
  static constexpr MakeLeap order[] = {to_fewer_tensors,
                                       to_plain,
                                       to_templates,
                                       to_fewer_features,
                                       to_fewer_options,
                                       to_refits,
                                       to_arrangement,
                                       to_small_domains,
                                       to_special_values,
                                       to_templates_with_features,
                                       to_templates_with_rule,
                                       to_filled_dims,
                                       to_one_side,
                                       to_fewer_axes,
                                       to_cut_dims,
                                       to_simple_rules};
  return order;
}

}  // namespace reshardcheck
