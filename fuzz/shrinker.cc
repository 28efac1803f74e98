#include "fuzz/shrinker.h"

#include <unordered_set>

#include "fuzz/edits.h"
#include "fuzz/leaps.h"

namespace reshardcheck {
namespace {

class Shrinker {
 public:
  Shrinker(const RunCase& run, const ShrinkOptions& options) : run_(run), options_(options) {}

  ShrinkResult shrink(const Case& failing, const Verdict& verdict) {
    accept(failing, Simplicity(failing), verdict);
    seen_.insert(simplicity_->text());
    bool moved = true;
    while (moved && !exhausted_) {
      moved = false;
      for (const MakeLeap leap : leaps()) take(leap(draft_));
      take_smaller_sizes();
      bisect_extents();
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
  bool attempt_changed(const std::function<void(CaseDraft&)>& change) {
    CaseDraft changed = draft_;
    change(changed);
    const Result<Case> value = build(changed);
    return value.ok() && attempt(*value);
  }

  /// Takes one step. Those that only put things in order go first: what a later step shows need then not be shown
  /// again for the same case in another order.
  bool step() {
    const std::vector<Case> smaller = smaller_cases(*current_);
    for (const bool reorders : {true, false}) {
      for (const Case& each : smaller) {
        if (only_reorders(each) == reorders && attempt(each)) return true;
      }
    }
    return false;
  }

  /// As many features, ranks and elements as the current case.
  [[nodiscard]] bool only_reorders(const Case& smaller) const {
    return smaller.world_ranks() == current_->world_ranks() && smaller.total_elements() == current_->total_elements() &&
           feature_points(smaller) == feature_points(*current_);
  }

  // ---- the phases ----------------------------------------------------------------------------------------------

  void take(const Leap& leap) {
    for (const auto& change : leap.changes) {
      if (attempt_changed(change) && leap.first_only) return;
    }
  }

  /// From the smallest combination up: the first that fails is the smallest of all, wherever the search came from.
  void take_smaller_sizes() {
    constexpr std::int64_t tries = 24;
    const std::int64_t last_run = runs_ + tries;
    for (const Case& smaller : smaller_sizes(draft_)) {
      if (runs_ >= last_run || attempt(smaller)) return;
    }
  }

  /// Each extent by halves, for bugs that begin at a size.
  void bisect_extents() {
    for (std::size_t tensor = 0; tensor < draft_.tensors.size(); ++tensor) {
      for (std::size_t dim = 0; dim < draft_.tensors[tensor].shape.size(); ++dim) {
        std::int64_t passes = 0;
        while (draft_.tensors[tensor].shape[dim] - passes > 1) {
          const std::int64_t middle = passes + (draft_.tensors[tensor].shape[dim] - passes) / 2;
          const bool fails =
              attempt_changed([&](CaseDraft& changed) { set_extent(changed.tensors[tensor], dim, middle); });
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
