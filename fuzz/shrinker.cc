#include "fuzz/shrinker.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "fuzz/edits.h"

namespace reshardcheck {
namespace {

/// The sides of the simplest cases there are, in the order in which they are tried. Many bugs show in one of them,
/// and every start then ends in the same place.
struct Template {
  Shape shape;
  std::int64_t source_ranks;
  std::int64_t target_ranks;
  Placement source;
  Placement target;
};

std::vector<Template> templates() {
  const Placement whole = Placement::replicate();
  const Placement cut = Placement::shard(0);
  return {{{}, 1, 1, whole, whole},
          {{}, 1, 2, whole, whole},
          {{2}, 2, 1, cut, whole},
          {{2}, 1, 2, whole, cut}};
}

void apply(const Template& simple, TensorDraft& tensor) {
  tensor.shape = simple.shape;
  tensor.source = {{simple.source_ranks}, {}, {simple.source}};
  tensor.target = {{simple.target_ranks}, {}, {simple.target}};
}

constexpr std::array sides = {&TensorDraft::target, &TensorDraft::source};

class Shrinker {
 public:
  Shrinker(const RunCase& run, const ShrinkOptions& options) : run_(run), options_(options) {}

  ShrinkResult shrink(const Case& failing, const Verdict& verdict) {
    accept(failing, Simplicity(failing), verdict);
    seen_.insert(simplicity_->text());
    bool moved = true;
    while (moved && !exhausted_) {
      moved = false;
      for (void (Shrinker::* const leap)() :
           {&Shrinker::leap_to_one_tensor, &Shrinker::leap_to_templates, &Shrinker::leap_to_plain, &Shrinker::leap_ranks,
            &Shrinker::leap_to_templates_with_features, &Shrinker::leap_sides, &Shrinker::leap_axes,
            &Shrinker::leap_dims, &Shrinker::leap_rules, &Shrinker::leap_sizes, &Shrinker::bisect_extents}) {
        (this->*leap)();
      }
      while (step()) moved = true;
    }
    return {*current_, verdict_, runs_, !exhausted_};
  }

 private:
  // ---- one attempt ---------------------------------------------------------------------------------------------

  void accept(const Case& value, Simplicity simplicity, const Verdict& verdict) {
    current_ = value;
    draft_ = draft_of(value);
    simplicity_ = std::move(simplicity);
    verdict_ = verdict;
  }

  /// Runs a case unless it is no simpler, known, or out of budget; true when it becomes the current one.
  bool attempt(const Case& value) {
    Simplicity simplicity(value);
    if (exhausted_ || !(simplicity < *simplicity_) || seen_.count(simplicity.text()) > 0) return false;
    if (runs_ >= options_.max_runs || (options_.out_of_time && options_.out_of_time())) {
      exhausted_ = true;
      return false;
    }
    seen_.insert(simplicity.text());
    ++runs_;
    const std::optional<Verdict> verdict = run_(value);
    if (!verdict || !verdict->failed()) return false;
    if (bucket(verdict->kind) != bucket(verdict_.kind)) {
      if (options_.on_slipped) options_.on_slipped(value, *verdict);
      return false;
    }
    accept(value, std::move(simplicity), *verdict);
    if (options_.on_best) options_.on_best(value, *verdict);
    return true;
  }

  /// attempt() of the current draft with a change.
  template <typename Change>
  bool attempt_changed(Change change) {
    CaseDraft changed = draft_;
    change(changed);
    const Result<Case> value = build(changed);
    return value.ok() && attempt(*value);
  }

  /// The same for a change of sizes: sides that are in a canonical arrangement stay in it.
  template <typename Change>
  bool attempt_resized(Change change) {
    const std::optional<Arrangement> arrangement = current_arrangement();
    return attempt_changed([&](CaseDraft& changed) {
      change(changed);
      if (arrangement) arrange(changed, *arrangement);
    });
  }

  std::optional<Arrangement> current_arrangement() const {
    for (const Arrangement each : all_arrangements) {
      if (is_arranged(draft_, each)) return each;
    }
    return std::nullopt;
  }

  bool step() {
    for (const Case& smaller : smaller_cases(*current_)) {
      if (attempt(smaller)) return true;
    }
    return false;
  }

  // ---- leaps ---------------------------------------------------------------------------------------------------

  void leap_to_one_tensor() {
    for (std::size_t i = 0; draft_.tensors.size() > 1 && i < draft_.tensors.size(); ++i) {
      attempt_changed([i](CaseDraft& changed) { changed.tensors = {changed.tensors[i]}; });
    }
    // A bug between tensors needs two or more: leave them out one by one, the later ones first.
    for (std::size_t i = draft_.tensors.size(); i-- > 0 && draft_.tensors.size() > 2;) {
      attempt_changed([i](CaseDraft& changed) { changed.tensors.erase(changed.tensors.begin() + static_cast<std::ptrdiff_t>(i)); });
    }
  }

  void leap_to_templates() {
    for (const Template& simple : templates()) {
      const bool found = attempt_changed([&](CaseDraft& changed) {
        changed.options = {};
        for (TensorDraft& tensor : changed.tensors) {
          tensor = {};
          apply(simple, tensor);
          arrange(tensor, Arrangement::home);
        }
      });
      if (found) return;
    }
  }

  static void make_options_plain(CaseDraft& draft) {
    draft.options = {};
    for (TensorDraft& tensor : draft.tensors) {
      tensor.name.clear();
      tensor.dtype = DType::u8;
      tensor.path = Path::reshard;
    }
  }

  static void make_rules_plain(CaseDraft& draft) {
    for (TensorDraft& tensor : draft.tensors) {
      for (SideDraft TensorDraft::* const side : sides) {
        for (Placement& placement : (tensor.*side).placements) {
          if (placement.is_shard()) placement = Placement::shard(placement.dim);
        }
      }
    }
  }

  /// All features away at once, or group by group, or one by one.
  void leap_to_plain() {
    const bool all = attempt_changed([](CaseDraft& changed) {
      make_options_plain(changed);
      make_rules_plain(changed);
      arrange(changed, Arrangement::home);
    });
    if (all) return;
    attempt_changed([](CaseDraft& changed) { arrange(changed, Arrangement::home); });
    attempt_changed(make_rules_plain);
    if (attempt_changed(make_options_plain)) return;
    // Something among the options matters: find out what by leaving out one at a time.
    const Options plain;
    attempt_changed([](CaseDraft& changed) { changed.options.seed = 0; });
    attempt_changed([](CaseDraft& changed) { changed.options.refits = 1; });
    attempt_changed([](CaseDraft& changed) { changed.options.chunk_bytes = 0; });
    attempt_changed([](CaseDraft& changed) { changed.options.gap_elements = 0; });
    attempt_changed([](CaseDraft& changed) { changed.options.batch_tensors = 0; });
    attempt_changed([](CaseDraft& changed) { changed.options.world_ranks = 0; });
    attempt_changed([](CaseDraft& changed) { changed.options.domain_ranks = changed.options.domain_anchor = 0; });
    attempt_changed([](CaseDraft& changed) { changed.options.fill = FillKind::digits; });
    attempt_changed([](CaseDraft& changed) { changed.options.faults.clear(); });
    for (const auto part : {+[](TensorDraft& tensor) { tensor.name.clear(); },
                            +[](TensorDraft& tensor) { tensor.dtype = DType::u8; },
                            +[](TensorDraft& tensor) { tensor.path = Path::reshard; }}) {
      attempt_changed([part](CaseDraft& changed) {
        for (TensorDraft& tensor : changed.tensors) part(tensor);
      });
    }
  }

  /// Ranks that cannot be at home go to the simplest of the canonical arrangements.
  void leap_ranks() {
    if (current_arrangement() == Arrangement::home) return;
    for (const Arrangement each : all_arrangements) {
      if (attempt_changed([each](CaseDraft& changed) { arrange(changed, each); })) return;
    }
    attempt_changed(close_rank_gaps);
  }

  /// The templates again, with the options, types, path and arrangement that could not be made plain.
  void leap_to_templates_with_features() {
    const std::optional<Arrangement> arrangement = current_arrangement();
    for (const Template& simple : templates()) {
      const bool found = attempt_changed([&](CaseDraft& changed) {
        for (TensorDraft& tensor : changed.tensors) {
          apply(simple, tensor);
          arrange(tensor, arrangement.value_or(Arrangement::home));
        }
      });
      if (found) return;
    }
  }

  void leap_sides() {
    for (SideDraft TensorDraft::* const side : sides) {
      attempt_resized([side](CaseDraft& changed) {
        for (TensorDraft& tensor : changed.tensors) make_trivial(tensor.*side);
      });
    }
  }

  void leap_axes() {
    for (std::size_t tensor = 0; tensor < draft_.tensors.size(); ++tensor) {
      for (SideDraft TensorDraft::* const side : sides) {
        for (std::size_t axis = (draft_.tensors[tensor].*side).extents.size(); axis-- > 0;) {
          attempt_resized([&](CaseDraft& changed) { drop_axis(changed.tensors[tensor].*side, axis); });
        }
      }
    }
  }

  /// All dims that nothing cuts, at once.
  void leap_dims() {
    for (std::size_t tensor = 0; tensor < draft_.tensors.size(); ++tensor) {
      attempt_changed([tensor](CaseDraft& changed) {
        TensorDraft& of = changed.tensors[tensor];
        for (std::size_t dim = of.shape.size(); dim-- > 0;) {
          const auto cuts = [dim](const Placement& placement) { return placement.dim == static_cast<int>(dim); };
          if (std::none_of(of.source.placements.begin(), of.source.placements.end(), cuts) &&
              std::none_of(of.target.placements.begin(), of.target.placements.end(), cuts)) {
            drop_dim(of, dim);
          }
        }
      });
    }
  }

  /// Rules that cannot be chunk get their simplest parameters: two segments, factor two, no multiple.
  void leap_rules() {
    attempt_changed([](CaseDraft& changed) {
      for (TensorDraft& tensor : changed.tensors) {
        for (SideDraft TensorDraft::* const side : sides) {
          for (Placement& placement : (tensor.*side).placements) {
            if (placement.is_replicate()) continue;
            const std::int64_t extent = tensor.shape[static_cast<std::size_t>(placement.dim)];
            if (placement.rule == SplitRule::strided) placement.parameter = 2;
            if (placement.rule == SplitRule::padded) placement.parameter = 1;
            if (placement.rule == SplitRule::segments) placement.sizes = {extent - extent / 2, extent / 2};
          }
        }
      }
    });
  }

  // ---- sizes ---------------------------------------------------------------------------------------------------

  /// An extent of an axis or of a dim that may become smaller, and the values worth a look, smallest first.
  struct Size {
    std::size_t tensor = 0;
    SideDraft TensorDraft::* side = nullptr;  // null for a dim
    std::size_t index = 0;
    std::vector<std::int64_t> values;
  };

  std::vector<Size> axis_sizes() const {
    std::vector<Size> result;
    for (std::size_t tensor = 0; tensor < draft_.tensors.size(); ++tensor) {
      for (SideDraft TensorDraft::* const side : sides) {
        const SideDraft& current = draft_.tensors[tensor].*side;
        for (std::size_t axis = 0; axis < current.extents.size(); ++axis) {
          Size size{tensor, side, axis, {}};
          for (std::int64_t extent = 2; extent <= std::min<std::int64_t>(current.extents[axis], 4); ++extent) size.values.push_back(extent);
          if (size.values.size() > 1) result.push_back(std::move(size));
        }
      }
    }
    return result;
  }

  /// Extents up to two rows a part: all remainders, with and without a full row before them.
  std::vector<Size> dim_sizes(const CaseDraft& draft) const {
    std::vector<Size> result;
    for (std::size_t tensor = 0; tensor < draft.tensors.size(); ++tensor) {
      for (std::size_t dim = 0; dim < draft.tensors[tensor].shape.size(); ++dim) {
        const std::int64_t parts = parts_of(draft.tensors[tensor], dim);
        const std::int64_t highest = std::min(draft.tensors[tensor].shape[dim], 2 * parts);
        Size size{tensor, nullptr, dim, {}};
        for (std::int64_t extent = 1; extent <= highest; ++extent) size.values.push_back(extent);
        if (size.values.size() > 1) result.push_back(std::move(size));
      }
    }
    return result;
  }

  static void set(CaseDraft& draft, const Size& size, std::int64_t value) {
    TensorDraft& tensor = draft.tensors[size.tensor];
    if (size.side == nullptr) {
      set_extent(tensor, size.index, value);
    } else {
      shrink_axis(tensor.*size.side, size.index, value);
    }
  }

  /// Calls visit(draft) for combinations of the sizes' values, at most `bound` of them.
  template <typename Visit>
  static void combine(const CaseDraft& draft, const std::vector<Size>& sizes, std::size_t bound, Visit visit) {
    std::vector<std::size_t> at(sizes.size(), 0);
    for (std::size_t count = 0; count < bound; ++count) {
      CaseDraft changed = draft;
      for (std::size_t i = 0; i < sizes.size(); ++i) set(changed, sizes[i], sizes[i].values[at[i]]);
      visit(changed);
      std::size_t digit = sizes.size();
      while (digit > 0 && ++at[digit - 1] == sizes[digit - 1].values.size()) at[--digit] = 0;
      if (digit == 0) return;
    }
  }

  /// Axes and extents together, from the smallest combination up: what must shrink together does, and the first
  /// that fails is the smallest of all looked at, wherever the search came from.
  void leap_sizes() {
    constexpr std::size_t combinations = 600;
    constexpr int tries = 24;
    const std::optional<Arrangement> arrangement = current_arrangement();
    std::vector<std::pair<Simplicity, Case>> found;
    combine(draft_, axis_sizes(), combinations / 10, [&](const CaseDraft& meshes) {
      combine(meshes, dim_sizes(meshes), combinations / 10, [&](CaseDraft& changed) {
        if (arrangement) arrange(changed, *arrangement);
        Result<Case> value = build(changed);
        if (!value) return;
        Simplicity simplicity(*value);
        if (simplicity < *simplicity_) found.emplace_back(std::move(simplicity), *std::move(value));
      });
    });
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::int64_t last_run = runs_ + tries;
    for (const auto& entry : found) {
      if (runs_ >= last_run || attempt(entry.second)) return;
    }
  }

  /// Each extent by halves, for bugs that begin at a size.
  void bisect_extents() {
    for (std::size_t tensor = 0; tensor < draft_.tensors.size(); ++tensor) {
      for (std::size_t dim = 0; dim < draft_.tensors[tensor].shape.size(); ++dim) {
        std::int64_t passes = 0;
        while (draft_.tensors[tensor].shape[dim] - passes > 1) {
          const std::int64_t middle = passes + (draft_.tensors[tensor].shape[dim] - passes) / 2;
          const bool fails = attempt_changed([&](CaseDraft& changed) { set_extent(changed.tensors[tensor], dim, middle); });
          if (!fails) passes = middle;
        }
      }
    }
  }

  const RunCase& run_;
  const ShrinkOptions& options_;
  std::optional<Case> current_;
  CaseDraft draft_;
  std::optional<Simplicity> simplicity_;
  Verdict verdict_;
  std::unordered_set<std::string> seen_;
  std::int64_t runs_ = 0;
  bool exhausted_ = false;
};

}  // namespace

std::string_view bucket(VerdictKind kind) {
  const bool wrong = kind == VerdictKind::mismatch || kind == VerdictKind::unwritten || kind == VerdictKind::stale;
  return wrong ? "wrong_data" : name(kind);
}

ShrinkResult shrink(const Case& failing, const Verdict& verdict, const RunCase& run, const ShrinkOptions& options) {
  return Shrinker(run, options).shrink(failing, verdict);
}

}  // namespace reshardcheck
