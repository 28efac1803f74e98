// Shrinks sequences: first their length, because a shorter one is always simpler, then step by step, then all steps at
// once. What outlives a step harms another that is built like it, so many a change only works on all of them together:
// the steps are laid side by side as the tensors of one case, which the shrinker of cases knows how to make small.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "fuzz/draft.h"
#include "fuzz/sequence.h"
#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

/// The tensors of all steps as one case, when the steps have the same options.
std::optional<Case> side_by_side(const Sequence& sequence) {
  CaseDraft all = draft_of(sequence.steps.front());
  for (std::size_t step = 1; step < sequence.steps.size(); ++step) {
    CaseDraft next = draft_of(sequence.steps[step]);
    if (!(next.options == all.options)) return std::nullopt;
    std::move(next.tensors.begin(), next.tensors.end(), std::back_inserter(all.tensors));
  }
  Result<Case> value = build(all);
  if (!value) return std::nullopt;
  return *std::move(value);
}

/// The reverse: the sequence with the tensors of the case, as many a step as it had; nothing when there are not as
/// many.
std::optional<Sequence> taken_apart(const Case& value, const Sequence& like) {
  Sequence result;
  std::size_t next = 0;
  for (const Case& step : like.steps) {
    if (value.tensors.size() - next < step.tensors.size()) return std::nullopt;
    Case part;
    part.options = value.options;
    const auto begin = value.tensors.begin() + static_cast<std::ptrdiff_t>(next);
    part.tensors.assign(begin, begin + std::ssize(step.tensors));
    next += step.tensors.size();
    Result<Case> valid = build(draft_of(part));
    if (!valid) return std::nullopt;
    result.steps.push_back(*std::move(valid));
  }
  if (next != value.tensors.size()) return std::nullopt;
  return result;
}

class SequenceShrinker {
 public:
  SequenceShrinker(const RunSequence& run, const SequenceShrinkOptions& options) : run_(run), options_(options) {}

  SequenceShrinkResult shrink(const Sequence& failing, const SequenceVerdict& failed) {
    current_ = failing;
    current_.steps.resize(failed.step + 1);  // what came after the failure was never run
    verdict_ = failed.verdict;
    bool changed = true;
    while (changed && !exhausted_) {
      changed = false;
      while (drop_a_step()) changed = true;
      const bool alone = current_.steps.size() == 1;  // then the shrinker of cases has reached its fixpoint
      for (std::size_t step = current_.steps.size(); step-- > 0;) changed = shrink_step(step) || changed;
      if (alone) break;
      changed = shrink_together() || changed;
    }
    return {current_, verdict_, runs_, !exhausted_};
  }

 private:
  /// What the last step of a sequence shows, when the others pass. Every sequence is run once.
  std::optional<Verdict> last_verdict(const Sequence& sequence) {
    const std::string text = to_text(sequence);
    if (const auto known = known_.find(text); known != known_.end()) return known->second;
    if (exhausted_ || runs_ >= options_.max_runs || (options_.out_of_time && options_.out_of_time())) {
      exhausted_ = true;
      return std::nullopt;
    }
    ++runs_;
    const std::optional<SequenceVerdict> verdict = run_(sequence);
    std::optional<Verdict> last;
    if (verdict && verdict->step + 1 == sequence.steps.size()) last = verdict->verdict;
    if (verdict) report_slipped(sequence, *verdict);
    known_.emplace(text, last);
    return last;
  }

  [[nodiscard]] bool fails_alike(const Verdict& verdict) const {
    return verdict.failed() && bucket(verdict.kind) == bucket(verdict_.kind);
  }

  void report_slipped(Sequence sequence, const SequenceVerdict& verdict) const {
    if (!options_.on_slipped || !verdict.verdict.failed() || fails_alike(verdict.verdict)) return;
    sequence.steps.resize(verdict.step + 1);
    options_.on_slipped(sequence, verdict.verdict);
  }

  /// From the front: old steps matter least.
  bool drop_a_step() {
    for (std::size_t step = 0; step + 1 < current_.steps.size(); ++step) {
      Sequence shorter = current_;
      shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(step));
      const std::optional<Verdict> verdict = last_verdict(shorter);
      if (!verdict || !fails_alike(*verdict)) continue;
      current_ = std::move(shorter);
      verdict_ = *verdict;
      if (options_.on_best) options_.on_best(current_, verdict_);
      return true;
    }
    return false;
  }

  bool shrink_step(std::size_t step) {
    return shrink_as(current_.steps[step], [this, step](const Case& value) -> std::optional<Sequence> {
      Sequence changed = current_;
      changed.steps[step] = value;
      return changed;
    });
  }

  bool shrink_together() {
    const std::optional<Case> all = side_by_side(current_);
    return all && shrink_as(*all, [this](const Case& value) { return taken_apart(value, current_); });
  }

  /// Shrinks a case that stands for the current sequence; `sequence_of` says which sequence another case stands for.
  template <typename SequenceOf>
  bool shrink_as(const Case& standing_for, SequenceOf sequence_of) {
    const RunCase run = [&](const Case& value) -> std::optional<Verdict> {
      const std::optional<Sequence> changed = sequence_of(value);
      return changed ? last_verdict(*changed) : std::nullopt;
    };
    ShrinkOptions options;
    options.max_runs = std::numeric_limits<std::int64_t>::max();  // the budget is that of sequences, in last_verdict()
    options.out_of_time = [this] { return exhausted_; };
    options.on_best = [&](const Case& value, const Verdict& verdict) {
      if (options_.on_best) options_.on_best(*sequence_of(value), verdict);
    };
    const Case before = standing_for;
    ShrinkResult shrunk = reshardcheck::shrink(before, verdict_, run, options);
    if (shrunk.minimal == before) return false;
    current_ = *sequence_of(shrunk.minimal);
    verdict_ = std::move(shrunk.verdict);
    return true;
  }

  const RunSequence& run_;
  const SequenceShrinkOptions& options_;
  Sequence current_;
  Verdict verdict_;
  std::unordered_map<std::string, std::optional<Verdict>> known_;
  std::int64_t runs_ = 0;
  bool exhausted_ = false;
};

}  // namespace

SequenceShrinkResult shrink_sequence(const Sequence& failing, const SequenceVerdict& failed, const RunSequence& run,
                                     const SequenceShrinkOptions& options) {
  return SequenceShrinker(run, options).shrink(failing, failed);
}

}  // namespace reshardcheck
