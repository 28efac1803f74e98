// Sequences: several cases that one subject gets one after the other, as a process does that lives on.
//
// A case begins with a subject that remembers nothing. A sequence goes on with what the steps before have left behind:
// plans in caches, staging memory, counters, sessions. Layouts, shapes, data and the number of tensors change between
// steps; ranks join and leave, and sessions are then opened anew (see Executor::run). A step with injected faults is an
// accident on the way: how it ends is not judged, and what comes after it must pass.
//
// Text: the steps on one line, each in the notation of cases, with " >> " between them.
//
//     u8[4] 2@0 S(0) -> 1@2 R >> u8[6] 2@0 S(0) -> 1@2 R | seed=5
//
// Every step after the first runs with a seed made from its own and its place, so that no step repeats the data of
// another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "fuzz/choices.h"
#include "fuzz/generator.h"
#include "verifier/runner.h"
#include "verifier/verdict.h"

namespace reshardcheck {

struct Sequence {
  std::vector<Case> steps;  // at least one
  friend bool operator==(const Sequence&, const Sequence&) = default;
};

inline constexpr std::size_t max_sequence_steps = 256;

/// The sequence a line says; a case is a sequence of one step. The Error's position counts from the start of the line.
Result<Sequence> parse_sequence(std::string_view text);
std::string to_text(const Sequence& sequence);

/// The verdict on a sequence is that of its first step that fails, or of its last step when none does.
struct SequenceVerdict {
  Verdict verdict;
  std::size_t step = 0;
};

/// "step 2 of 3: ", which goes before what is said of a step; empty for a case by itself. Steps count from 0 in the
/// code and from 1 in what people read.
[[nodiscard]] std::string step_prefix(const Sequence& sequence, std::size_t step);

/// "case" or "sequence", as people call it.
[[nodiscard]] std::string_view noun_of(const Sequence& sequence);

/// Runs the steps up to the first that fails. An Error when a step was not run (see Runner::run). A sequence of one
/// step is judged as that case is.
Result<SequenceVerdict> run_sequence(Runner& runner, const Sequence& sequence);

/// Two to six steps. Most are relatives of the step before: the same with other data, layouts, shapes or tensors, or
/// one of its relations; some are unrelated, some an accident.
Sequence draw_sequence(Choices& choices, const GeneratorOptions& options);

/// Runs a sequence and says what it showed; nothing when it cannot be run.
using RunSequence = std::function<std::optional<SequenceVerdict>(const Sequence&)>;

struct SequenceShrinkOptions {
  std::int64_t max_runs = 2'000;      // of sequences
  std::function<bool()> out_of_time;  // asked before each run
  /// Each time a simpler failing sequence is known; it fails in its last step.
  std::function<void(const Sequence&, const Verdict&)> on_best;
  /// A failure of another bucket, in the last step of a sequence that it needs at most.
  std::function<void(const Sequence&, const Verdict&)> on_slipped;
};

struct SequenceShrinkResult {
  Sequence minimal;
  Verdict verdict;           // of the last step of the minimal sequence
  std::int64_t runs = 0;     // of sequences
  bool one_minimal = false;  // no step can go, and no single change of a step's case fails; false: the budget ended
};

/// Makes a sequence that failed at `failed.step` short and its steps small:
///   1. drop the steps after the one that failed, then every step that is not needed;
///   2. shrink each step with the shrinker of cases, the last first;
///   3. shrink all steps together, where they have the same options;
///   4. again from the start, until nothing changes.
/// Only a failure of the same bucket in the last step is accepted. A sequence of one step is shrunk as that case is,
/// run by run.
SequenceShrinkResult shrink_sequence(const Sequence& failing, const SequenceVerdict& failed, const RunSequence& run,
                                     const SequenceShrinkOptions& options = {});

}  // namespace reshardcheck
