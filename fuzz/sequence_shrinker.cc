// Shrinks sequences: first their length, because a shorter one is always simpler, then step by step.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "fuzz/sequence.h"
#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

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
    }
    return {current_, verdict_, runs_, !exhausted_};
  }

 private:
  /// What the last step of a sequence shows, when the others pass. Every sequence is run once.
  std::optional<Verdict> last_verdict(const Sequence& sequence) {
    const std::string text = to_text(sequence);
    if (const auto known = known_.find(text); known != known_.end()) return known->second;
    if (runs_ >= options_.max_runs || (options_.out_of_time && options_.out_of_time())) {
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
    const auto with = [&](const Case& value) {
      Sequence changed = current_;
      changed.steps[step] = value;
      return changed;
    };
    const RunCase run = [&](const Case& value) { return last_verdict(with(value)); };
    ShrinkOptions options;
    options.max_runs = options_.max_runs;  // of sequences; the shrinker of cases has the same, and sees its end
    options.out_of_time = [this] { return exhausted_; };
    options.on_best = [&](const Case& value, const Verdict& verdict) {
      if (options_.on_best) options_.on_best(with(value), verdict);
    };
    ShrinkResult shrunk = reshardcheck::shrink(current_.steps[step], verdict_, run, options);
    exhausted_ = exhausted_ || !shrunk.one_minimal;
    const bool changed = !(shrunk.minimal == current_.steps[step]);
    current_.steps[step] = std::move(shrunk.minimal);
    verdict_ = std::move(shrunk.verdict);
    return changed;
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
