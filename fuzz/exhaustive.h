// Exhaustive search: a subject against every case of a bound.
//
// The random search says what it found; this says that there was nothing else to find, within the bound. Jobs are
// threads that take the cases of the shard in turn, each with a runner of its own, so the result
// does not depend on how many there are: counts, failures in the order of the bound, and the simplest failing case.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "fuzz/enumerator.h"
#include "fuzz/generator.h"
#include "verifier/runner.h"
#include "verifier/verdict.h"

namespace reshardcheck {

struct ExhaustiveOptions {
  std::string subject = "reference";  // as --subject takes it
  GeneratorOptions bound;
  EnumerationShard shard;  // the part of the bound that this run visits
  int jobs = 1;
  ExecutorOptions executor;
  MakeRunner make_runner;                                 // asked once per job; empty: in this process, with `executor`
  std::size_t kept_failures = 8;                          // failing cases listed in the result; all are counted
  std::function<bool()> cancelled;                        // asked by every job between cases, from its own thread
  std::function<void(std::int64_t visited)> on_progress;  // from the first job's thread, about every 1,000 cases
};

struct ExhaustiveFailure {
  std::int64_t index = 0;  // in the bound
  Case value;
  Verdict verdict;
};

struct ExhaustiveResult {
  std::int64_t visited = 0;
  std::int64_t skipped = 0;                            // needed more memory than allowed
  std::array<std::int64_t, verdict_kinds> verdicts{};  // cases by VerdictKind
  std::int64_t failed = 0;
  std::vector<ExhaustiveFailure> first;       // the first failures, in the order of the bound
  std::optional<ExhaustiveFailure> simplest;  // by the shrinker's order
  bool complete = false;                      // every case of the shard was visited
  std::optional<std::string> broken;          // why the search could not go on (see Runner::broken)
};

/// Visits the shard. An Error is the user's: an unknown subject, no jobs, a shard outside its count.
Result<ExhaustiveResult> run_exhaustive(const ExhaustiveOptions& options);

}  // namespace reshardcheck
