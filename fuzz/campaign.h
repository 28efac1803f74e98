// Campaign: the search itself, from a seed and a budget to findings.
//
//   1. canary: a mutant that must fail and a known-good case that must pass run first; if either surprises, nothing
//      that follows could be believed, and the campaign ends as an environment failure
//   2. per block of cases draw a swarm configuration, per case draw the case, run it, judge it; with relations, run
//      what one of them (each in turn) derives from a case that passes
//   3. confirm a failure by running it again (a case that fails k times of n is flaky), shrink it, merge it with
//      what is known of its bucket, write it to the corpus
//   4. go on until the budget or the number of findings ends it
// With sequences, all of this goes for sequences of cases (sequence.h) instead: what is drawn, run, confirmed, shrunk
// and kept is then several cases that one subject gets one after the other. A case by itself is a sequence of one step.
// The cases, the verdicts and every line depend on the options alone; the clock only ends a budget in seconds.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "fuzz/corpus.h"
#include "fuzz/coverage.h"
#include "fuzz/generator.h"
#include "fuzz/inflight.h"
#include "fuzz/sequence.h"
#include "verifier/runner.h"
#include "verifier/verdict.h"

namespace reshardcheck {

struct CampaignOptions {
  std::string subject = "reference";  // as --subject takes it
  std::string world = "sim";          // for the lines that name it; where cases run is for make_runner to say
  std::string build;                  // version and build type, for the first line
  std::uint64_t seed = 0;
  bool sequences = false;               // sequences of cases instead of cases
  std::int64_t cases = 0;               // budget in cases (or sequences); 0: none
  double seconds = 0;                   // budget in seconds of `clock_seconds`; 0: none. One of the two must be set
  std::int64_t stop_after = 1;          // distinct findings; 0: go on to the end of the budget
  std::int64_t confirm_runs = 3;        // runs that decide whether a failure is flaky, the first included
  std::int64_t shrink_runs = 1'000;     // budget of one minimisation, in runs, for each step
  std::int64_t flaky_runs = 40;         // runs that a case of a flaky finding gets to fail again
  std::int64_t swarm_block_cases = 50;  // cases that share one swarm configuration
  bool swarm = true;
  int candidates = 2;      // drawn for every case; the one with most unseen pairs of features is run. 1: no steering
  bool relations = false;  // a case that passes is followed by what one relation derives from it; not in sequences
  int fault_percent = 0;  // of the cases get one or two faults (see fault_drawer.h); on the sim world, not in sequences
  GeneratorOptions generator;
  ExecutorOptions executor;
  std::string where;                      // flags of a command that runs and judges cases the same way again
  MakeRunner make_runner;                 // where cases run; empty: in this process, with `executor`
  std::string out_directory;              // corpus; empty: nothing is written
  std::function<double()> clock_seconds;  // monotonic; needed for a budget in seconds
  std::function<bool()> cancelled;        // asked between runs; true ends the campaign
};

struct CampaignProgress {
  std::int64_t cases = 0;
  std::int64_t findings = 0;
  double fraction = 0;  // of the budget, 0 to 1
};

/// How a campaign ended. One that was cancelled before its budget was spent is not clean: it was interrupted, unless it
/// has findings.
enum class CampaignEnd : std::uint8_t { clean, findings, environment, only_flaky, interrupted };
[[nodiscard]] std::string_view name(CampaignEnd end);

struct CampaignResult {
  CampaignEnd end = CampaignEnd::clean;
  std::int64_t cases = 0;
  std::array<std::int64_t, verdict_kinds> verdicts{};  // cases by VerdictKind, without those that have faults
  std::array<std::int64_t, verdict_kinds> faulted{};   // cases that have faults, by the kind of what came of them
  std::int64_t skipped = 0;                            // cases that needed more memory than allowed
  std::vector<Finding> findings;                       // distinct, in the order found
  std::string environment;                             // what surprised, when end is environment
  Coverage coverage;                                   // of the cases run
  std::uint64_t digest = 0;                            // of every case text and verdict in order: equal for equal seeds
};

/// Receives what happens. Every call comes from the thread that runs the campaign.
class CampaignObserver {
 public:
  virtual ~CampaignObserver() = default;
  virtual void on_start(const CampaignOptions& options) { (void)options; }
  /// An earlier campaign with this corpus was killed while it ran a case. Before on_start.
  virtual void on_left_in_flight(const LeftInFlight& left) { (void)left; }
  /// Something that a person should know and that stops nothing.
  virtual void on_warning(const std::string& warning) { (void)warning; }
  virtual void on_case(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict) {
    (void)index, (void)value, (void)verdict;
  }
  virtual void on_progress(const CampaignProgress& progress) { (void)progress; }  // after every case
  /// A failure has been seen (before it is shrunk), and each simpler form of it while it is shrunk.
  virtual void on_failure(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict) {
    (void)index, (void)value, (void)verdict;
  }
  virtual void on_best(const Sequence& value, const Verdict& verdict) { (void)value, (void)verdict; }
  virtual void on_finding(const Finding& finding) { (void)finding; }
  virtual void on_end(const CampaignOptions& options, const CampaignResult& result) { (void)options, (void)result; }
};

/// The memory that a campaign needs at least: that of the known answers it begins with.
[[nodiscard]] std::int64_t known_answers_bytes();

/// Runs a campaign to its end. An Error is the user's: an unknown subject, no budget, impossible options, or a
/// corpus that cannot be written.
Result<CampaignResult> run_campaign(const CampaignOptions& options, CampaignObserver& observer);

/// The first and the last line of a campaign, without a newline. The first has seed, budget, build, subject and
/// world; the last the verdict and one command to copy.
[[nodiscard]] std::string first_line(const CampaignOptions& options);
[[nodiscard]] std::string last_line(const CampaignOptions& options, const CampaignResult& result);

/// The lines that tell a person of a failure that is not yet shrunk, and of a simpler form of it.
[[nodiscard]] std::string failure_lines(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict);
[[nodiscard]] std::string smaller_line(const Sequence& value, const Verdict& verdict);

/// How the cases with faults ended, as a small table; empty when there were none.
[[nodiscard]] std::string fault_table(const CampaignResult& result);

/// The lines that tell a person of one finding.
[[nodiscard]] std::string finding_lines(const Finding& finding);

/// The same as JSON objects, one line each: {"event":"start",...}, {"event":"case",...}, {"event":"finding",...},
/// {"event":"end",...}. Where a case is a sequence of several steps, "case" has all of them and "step" the one that
/// failed, or the last, from 1.
nlohmann::json start_json(const CampaignOptions& options);
nlohmann::json case_json(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict);
nlohmann::json finding_json(const Finding& finding);
nlohmann::json end_json(const CampaignOptions& options, const CampaignResult& result);

}  // namespace reshardcheck
