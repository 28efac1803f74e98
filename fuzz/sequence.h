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
#include "fuzz/shrinker.h"
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

/// Runs the steps up to the first that fails. An Error when a step was not run (see Runner::run).
Result<SequenceVerdict> run_sequence(Runner& runner, const Sequence& sequence);

/// Two to six steps. Most are relatives of the step before: the same with other data, layouts, shapes or tensors, or
/// one of its relations; some are unrelated, some an accident.
Sequence draw_sequence(Choices& choices, const GeneratorOptions& options);

/// Runs a sequence and says what it showed; nothing when it cannot be run.
using RunSequence = std::function<std::optional<SequenceVerdict>(const Sequence&)>;

struct SequenceShrinkResult {
  Sequence minimal;
  Verdict verdict;           // of the last step of the minimal sequence
  std::int64_t runs = 0;     // of sequences
  bool one_minimal = false;  // no step can go, and no single change of a step's case fails; false: the budget ended
};

/// Makes a sequence that failed at `failed.step` short and its steps small:
///   1. drop the steps after the one that failed, then every step that is not needed;
///   2. shrink each step with the shrinker of cases, the last first;
///   3. again from the start, until nothing changes.
/// Only a failure of the same bucket in the last step is accepted.
SequenceShrinkResult shrink_sequence(const Sequence& failing, const SequenceVerdict& failed, const RunSequence& run,
                                     const ShrinkOptions& options = {});

struct SequenceSearchOptions {
  std::uint64_t seed = 0;
  std::int64_t sequences = 100;      // budget
  std::int64_t shrink_runs = 2'000;  // budget of the minimisation, in runs of sequences
  GeneratorOptions generator;
  std::function<bool()> cancelled;  // asked between runs; true ends the search
};

struct SequenceFinding {
  Sequence original;
  SequenceVerdict original_verdict;
  SequenceShrinkResult shrunk;
};

struct SequenceSearchResult {
  std::int64_t sequences = 0;
  std::optional<SequenceFinding> finding;  // the search ends with the first
};

/// Draws and runs sequences until one fails, and shrinks it. Depends on the options and the subject alone.
SequenceSearchResult search_sequences(const SequenceSearchOptions& options, Runner& runner);

/// A finding in the format of .case files: comment lines, then the minimal sequence on one line.
[[nodiscard]] std::string finding_text(const SequenceFinding& finding, std::string_view subject, std::uint64_t seed);

}  // namespace reshardcheck
