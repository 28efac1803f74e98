#include "fuzz/campaign.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "core/layout/notation.h"
#include "fuzz/fault_drawer.h"
#include "fuzz/features.h"
#include "fuzz/inflight.h"
#include "fuzz/relation.h"
#include "fuzz/sequence.h"
#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

/// Runs before every campaign: an answer that is known.
struct KnownAnswer {
  std::string_view subject;
  std::string_view text;
  bool must_fail;
};
constexpr KnownAnswer known_answers[] = {
    {"mutant:segments-as-plain", "u8[4] 2@0 S(0,segments=2|2) -> 1@2 R", true},  // for worlds of few ranks
    {"mutant:flat-chunk", "u8[5] 2x2@0 S(0),S(0) -> 1@4 R", true},
    {"reference", "u8[5] 2@0 S(0) -> 1@2 R", false},
    {"reference", "u8[6,5] 2x2@0 S(0),S(0) -> 3@4 S(1)", false},
};

/// After the end of a budget in seconds, what a minimisation that has begun may still take.
constexpr double shrink_grace_seconds = 10;

/// Tells the stream of faults from that of cases.
constexpr std::uint64_t fault_stream = 0x6661756c74;

/// A failure that is not yet a finding.
struct Failure {
  std::int64_t index = 0;
  Sequence value;
  SequenceVerdict verdict;
};

/// Steps of longer sequences have accidents, which the steps after them must survive; that is another question.
bool is_faulted(const Sequence& value) {
  return value.steps.size() == 1 && !value.steps.front().options.faults.empty();
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const MakeRunner& make_runner, CampaignObserver& observer)
      : options_(options),
        make_runner_(make_runner),
        observer_(observer),
        related_random_(~options.seed),
        fault_random_(options.seed ^ fault_stream) {}

  Result<CampaignResult> run() {
    // The known answers first: a group of workers is then there for the search to go on with.
    result_.environment = surprise();
    if (!result_.environment.empty()) {
      observer_.on_start(options_);
      return ended();
    }
    Result<std::unique_ptr<Runner>> runner = make_runner_(options_.subject);
    if (!runner) return runner.error();
    runner_ = *std::move(runner);
    if (!options_.out_directory.empty()) {
      for (const LeftInFlight& left : claim_left_in_flight(options_.out_directory)) observer_.on_left_in_flight(left);
      const std::string replay = " --subject " + shell_word(options_.subject) + " " + options_.where;
      Result<Inflight> inflight = Inflight::open(options_.out_directory, replay, runner_->isolated());
      if (!inflight) return inflight.error();
      inflight_ = *std::move(inflight);
    }
    begin_seconds_ = options_.seconds > 0 ? options_.clock_seconds() : 0;
    observer_.on_start(options_);
    result_.environment = runner_->broken().value_or("");
    if (result_.environment.empty()) {
      const Status searched = search();
      if (!searched) return searched.error();
    }
    return ended();
  }

 private:
  CampaignResult ended() {
    result_.end = end();
    observer_.on_end(options_, result_);
    return result_;
  }

  /// What a known answer came out as, when it is not what it must be; empty when all is well.
  std::string surprise() {
    for (const KnownAnswer& known : known_answers) {
      const Result<Case> value = parse_case(known.text);
      if (!value) return std::string(known.text) + ": " + value.error().reason;
      const Result<std::unique_ptr<Runner>> runner = make_runner_(known.subject);
      if (!runner) return std::string(known.subject) + ": " + runner.error().reason;
      if (value->world_ranks() > (*runner)->max_world_ranks()) continue;
      const Result<Verdict> verdict = (*runner)->run(*value);
      if (!verdict) return verdict.error().reason;
      if (verdict->failed() != known.must_fail) {
        return std::string(known.subject) + (known.must_fail ? " must fail on " : " must pass ") +
               std::string(known.text) + " but came out as " + std::string(name(verdict->kind));
      }
    }
    return "";
  }

  Status search() {
    rc::Random random(options_.seed);
    rc::Random block_random;
    GeneratorOptions whole = options_.generator;
    whole.max_world_ranks = std::min(whole.max_world_ranks, runner_->max_world_ranks());
    whole.min_world_ranks = std::min(whole.min_world_ranks, whole.max_world_ranks);
    GeneratorOptions generator = whole;
    while (!spent()) {
      if (cancelled()) {
        interrupted_ = true;
        break;
      }
      const std::int64_t index = result_.cases;
      if (index % options_.swarm_block_cases == 0) {
        block_random = random.split();
        RandomChoices choices(block_random.split());
        // Every fourth block has everything, so that no combination is out of reach.
        const bool everything = !options_.swarm || index / options_.swarm_block_cases % 4 == 0;
        generator = everything ? whole : draw_swarm(choices, whole);
      }
      RandomChoices choices(block_random.split());
      Sequence value = next(choices, generator);
      RandomChoices fault_choices(fault_random_.split());
      if (fault_choices.chance(options_.fault_percent)) {
        Case& only = value.steps.front();
        only.options.faults = draw_faults(fault_choices, only);
      }
      const Status done = judge(index, value);
      if (!done) return done;
      observer_.on_progress({result_.cases, std::ssize(result_.findings), fraction()});
      // Workers are not started any more once the campaign is cancelled: that is no fault of the environment.
      if (std::optional<std::string> broken = runner_->broken(); broken && !cancelled()) {
        result_.environment = *std::move(broken);
        break;
      }
    }
    return Ok{};
  }

  Sequence draw(Choices& choices, const GeneratorOptions& generator) const {
    if (options_.sequences) return draw_sequence(choices, generator);
    return {{generate_case(choices, generator)}};
  }

  /// The candidate that shows most of what no case has shown yet; the first of equals.
  Sequence next(Choices& choices, const GeneratorOptions& generator) {
    Sequence best = draw(choices, generator);
    for (int drawn = 1; drawn < options_.candidates; ++drawn) {
      Sequence other = draw(choices, generator);
      if (new_pairs(other) > new_pairs(best)) best = std::move(other);
    }
    for (const Case& step : best.steps) result_.coverage.add(features_of(step));
    return best;
  }

  [[nodiscard]] std::int64_t new_pairs(const Sequence& value) const {
    std::int64_t pairs = 0;
    for (const Case& step : value.steps) pairs += result_.coverage.new_pairs(features_of(step));
    return pairs;
  }

  Status judge(std::int64_t index, const Sequence& value) {
    const std::optional<SequenceVerdict> verdict = run_as_it_is(value);
    ++result_.cases;
    note(value, verdict);
    if (!verdict) {
      ++result_.skipped;
      return Ok{};
    }
    observer_.on_case(index, value, *verdict);
    const bool faulted = is_faulted(value);
    const VerdictKind kind = verdict->verdict.kind;
    ++(faulted ? result_.faulted : result_.verdicts)[static_cast<std::size_t>(kind)];
    if (fails(value, verdict->verdict)) return keep({index, value, *verdict});
    const bool relations = options_.relations && !options_.sequences && !faulted && kind == VerdictKind::pass;
    return relations ? judge_related(index, value.steps.front()) : Ok{};
  }

  /// A case with faults may end in whatever way it likes, as long as it does not pass wrong data.
  static bool fails(const Sequence& value, const Verdict& verdict) {
    return is_faulted(value) ? would_pass_wrong_data(verdict) : verdict.failed();
  }

  /// The relations take turns; one that says nothing about the case gives its turn to the next.
  Status judge_related(std::int64_t index, const Case& value) {
    RandomChoices choices(related_random_.split());
    constexpr std::size_t relations = std::size(all_relations);
    std::vector<RelatedCase> related;
    for (std::size_t tried = 0; related.empty() && tried < relations; ++tried) {
      related = related_cases(value, all_relations[next_relation_++ % relations], choices);
    }
    for (const RelatedCase& each : related) {
      const Sequence alone{{each.value}};
      const std::optional<SequenceVerdict> verdict = run_once(alone);
      note(alone, verdict);
      if (!verdict || !verdict->verdict.failed() || enough()) continue;
      const Status kept = keep({index, alone, {relation_verdict(each.relation, verdict->verdict), 0}});
      if (!kept) return kept;
    }
    return Ok{};
  }

  /// A failure that its faults explain counts as a pass here, so that nothing is shrunk towards it.
  std::optional<SequenceVerdict> run_once(const Sequence& value) {
    std::optional<SequenceVerdict> verdict = run_as_it_is(value);
    if (verdict && is_faulted(value) && !fails(value, verdict->verdict)) verdict = SequenceVerdict{};
    return verdict;
  }

  std::optional<SequenceVerdict> run_as_it_is(const Sequence& value) {
    if (inflight_.active() && !inflight_.begin(to_text(value)) && !inflight_told_) {
      inflight_told_ = true;
      observer_.on_warning("the case in flight cannot be noted under " + options_.out_directory +
                           ": is the disk full?");
    }
    Result<SequenceVerdict> verdict = run_sequence(*runner_, value);
    inflight_.end();
    if (!verdict) return std::nullopt;
    return *std::move(verdict);
  }

  void note(const Sequence& value, const std::optional<SequenceVerdict>& verdict) {
    const std::string line = to_text(value) + " " + std::string(verdict ? name(verdict->verdict.kind) : "skipped");
    result_.digest = XXH3_64bits_withSeed(line.data(), line.size(), result_.digest);
  }

  // ---- from a failure to a finding -----------------------------------------------------------------------------

  /// Shrinks a failure and what slips out on the way, and adds what is new.
  Status keep(Failure failure) {
    std::vector<Failure> open{std::move(failure)};
    std::map<std::string, bool> known;  // buckets that slipped out already, so that each is followed once
    for (std::size_t i = 0; i < open.size() && (i == 0 || !enough()); ++i) {
      observer_.on_failure(open[i].index, open[i].value, open[i].verdict);
      std::vector<Failure> slipped;
      Finding finding = minimise(open[i], slipped);
      for (Failure& each : slipped) {
        const bool followed =
            !known.emplace(bucket(each.verdict.verdict.kind), true).second || options_.stop_after == 1;
        if (!followed) open.push_back(std::move(each));
      }
      known.emplace(bucket(open[i].verdict.verdict.kind), true);
      const Status added = add(std::move(finding));
      if (!added) return added;
    }
    return Ok{};
  }

  Finding minimise(const Failure& failure, std::vector<Failure>& slipped) {
    Finding finding;
    finding.minimal = finding.original = failure.value;
    finding.minimal.steps.resize(failure.verdict.step + 1);
    finding.original_verdict = failure.verdict;
    finding.verdict = failure.verdict.verdict;
    finding.subject = options_.subject;
    finding.world = options_.world;
    finding.where = options_.where;
    finding.seed = options_.seed;
    finding.case_index = failure.index;
    const Tries confirmed = tries(failure.value, options_.confirm_runs - 1);
    finding.confirm_runs = confirmed.ran + 1;
    finding.failed_runs = confirmed.failed + 1;
    bool flaky = confirmed.failed < confirmed.ran;
    // What never fails again (a worker that somebody killed, a cable that was pulled) has nothing to shrink towards.
    if (!flaky || fails_again(failure.value)) shrink_finding(finding, flaky, slipped);
    const Tries again = flaky ? Tries{} : tries(finding.minimal, options_.confirm_runs);
    if (again.failed < again.ran) {
      flaky = true;  // a case large enough fails every time; its minimal form does not
      shrink_finding(finding, flaky, slipped);
    }
    if (flaky) mark_flaky(finding);
    const Verdict& first_seen = finding.original_verdict.verdict;
    if (names_relation(first_seen)) finding.verdict.oracle = first_seen.oracle;
    finding.bucket = bucket(finding.verdict.kind);
    for (const Case& step : finding.minimal.steps) {
      finding.bucket += (&step == &finding.minimal.steps.front() ? " " : " >> ") + feature_words(step);
    }
    return finding;
  }

  /// Makes the finding's minimal case smaller. A case of a flaky finding gets several runs to fail in.
  void shrink_finding(Finding& finding, bool flaky, std::vector<Failure>& slipped) {
    SequenceShrinkOptions shrinking;
    shrinking.max_runs = options_.shrink_runs * std::ssize(finding.minimal.steps);
    shrinking.out_of_time = [this] { return cancelled() || out_of_time(shrink_grace_seconds); };
    shrinking.on_best = [this](const Sequence& value, const Verdict& verdict) { observer_.on_best(value, verdict); };
    shrinking.on_slipped = [&](const Sequence& value, const Verdict& verdict) {
      slipped.push_back({finding.case_index, value, {verdict, value.steps.size() - 1}});
    };
    const RunSequence run = [&](const Sequence& value) { return flaky ? run_until_failure(value) : run_once(value); };
    const SequenceVerdict failed{finding.verdict, finding.minimal.steps.size() - 1};
    SequenceShrinkResult shrunk = shrink_sequence(finding.minimal, failed, run, shrinking);
    finding.minimal = std::move(shrunk.minimal);
    finding.verdict = std::move(shrunk.verdict);
    finding.shrink_runs += shrunk.runs;
    finding.one_minimal = shrunk.one_minimal;
  }

  struct Tries {
    std::int64_t ran = 0;
    std::int64_t failed = 0;
  };

  /// Runs a case so many times, or fewer when it is not run any more: a run that was refused is none that passed.
  Tries tries(const Sequence& value, std::int64_t runs) {
    Tries tries;
    while (tries.ran < runs && !cancelled()) {
      const std::optional<SequenceVerdict> verdict = run_once(value);
      if (!verdict) break;
      ++tries.ran;
      tries.failed += verdict->verdict.failed() ? 1 : 0;
    }
    return tries;
  }

  std::optional<SequenceVerdict> run_until_failure(const Sequence& value) {
    std::optional<SequenceVerdict> verdict;
    for (std::int64_t i = 0; i < options_.flaky_runs && !cancelled(); ++i) {
      verdict = run_once(value);
      if (!verdict || verdict->verdict.failed()) break;
    }
    return verdict;
  }

  bool fails_again(const Sequence& value) {
    const std::optional<SequenceVerdict> verdict = run_until_failure(value);
    return verdict && verdict->verdict.failed();
  }

  void mark_flaky(Finding& finding) {
    if (const Tries again = tries(finding.minimal, options_.flaky_runs); again.ran > 0) {
      finding.confirm_runs = again.ran;
      finding.failed_runs = again.failed;
    }
    finding.verdict.detail = "fails in " + std::to_string(finding.failed_runs) + " of " +
                             std::to_string(finding.confirm_runs) +
                             " runs: " + std::string(name(finding.verdict.kind)) + ", " + finding.verdict.detail;
    finding.verdict.kind = VerdictKind::flaky;
  }

  Status add(Finding finding) {
    for (Finding& known : result_.findings) {
      if (known.bucket != finding.bucket) continue;
      ++known.duplicates;
      return Ok{};
    }
    if (!options_.out_directory.empty()) {
      Result<std::string> file = write_finding(options_.out_directory, CorpusFolder::crashing, finding);
      if (file.ok()) {
        finding.file = *std::move(file);
      } else {
        finding.file_problem = file.error().reason;  // it is printed, and the search goes on
      }
    }
    observer_.on_finding(finding);
    result_.findings.push_back(std::move(finding));
    return Ok{};
  }

  // ---- the end -------------------------------------------------------------------------------------------------

  [[nodiscard]] bool enough() const {
    return options_.stop_after > 0 && std::ssize(result_.findings) >= options_.stop_after;
  }
  [[nodiscard]] double elapsed_seconds() const { return options_.clock_seconds() - begin_seconds_; }
  [[nodiscard]] bool cancelled() const { return options_.cancelled && options_.cancelled(); }
  [[nodiscard]] bool out_of_time(double grace_seconds) const {
    return options_.seconds > 0 && elapsed_seconds() >= options_.seconds + grace_seconds;
  }
  [[nodiscard]] bool spent() const {
    return enough() || (options_.cases > 0 && result_.cases >= options_.cases) || out_of_time(0);
  }
  [[nodiscard]] double fraction() const {
    double done = 0;
    if (options_.cases > 0) done = static_cast<double>(result_.cases) / static_cast<double>(options_.cases);
    if (options_.seconds > 0) done = std::max(done, elapsed_seconds() / options_.seconds);
    return std::min(done, 1.0);
  }

  [[nodiscard]] CampaignEnd end() const {
    if (!result_.environment.empty()) return CampaignEnd::environment;
    if (result_.findings.empty()) return interrupted_ ? CampaignEnd::interrupted : CampaignEnd::clean;
    const bool flaky = std::all_of(result_.findings.begin(), result_.findings.end(),
                                   [](const Finding& finding) { return finding.verdict.kind == VerdictKind::flaky; });
    return flaky ? CampaignEnd::only_flaky : CampaignEnd::findings;
  }

  const CampaignOptions& options_;
  const MakeRunner& make_runner_;
  CampaignObserver& observer_;
  std::unique_ptr<Runner> runner_;
  Inflight inflight_;
  bool inflight_told_ = false;
  bool interrupted_ = false;
  CampaignResult result_;
  rc::Random related_random_;  // apart from the cases, which are the same with and without relations
  rc::Random fault_random_;    // the same for the faults
  std::size_t next_relation_ = 0;
  double begin_seconds_ = 0;
};

}  // namespace

std::int64_t known_answers_bytes() {
  std::int64_t most = 0;
  for (const KnownAnswer& known : known_answers) {
    const Result<Case> value = parse_case(known.text);
    const Result<std::int64_t> needed = value ? Executor::bytes_needed(*value) : Result<std::int64_t>(value.error());
    if (needed) most = std::max(most, *needed);
  }
  return most;
}

Result<CampaignResult> run_campaign(const CampaignOptions& options, CampaignObserver& observer) {
  if (options.cases <= 0 && options.seconds <= 0) return Error{"a campaign needs a budget: cases or seconds"};
  if (options.seconds > 0 && !options.clock_seconds) return Error{"a budget in seconds needs a clock"};
  if (options.fault_percent > 0 && options.sequences) {
    return Error{"sequences have accidents of their own: faults or sequences, not both"};
  }
  if (options.swarm_block_cases < 1 || options.confirm_runs < 1 || options.candidates < 1) {
    return Error{"blocks, confirmations and candidates start at 1"};
  }
  const GeneratorOptions& generator = options.generator;
  if (generator.min_world_ranks > generator.max_world_ranks || generator.max_world_ranks < 2) {
    return Error{"ranks " + std::to_string(generator.min_world_ranks) + ".." +
                 std::to_string(generator.max_world_ranks) +
                 ": a world has at least 2 ranks, and no more at least than at most"};
  }
  const MakeRunner make_runner = options.make_runner ? options.make_runner : local_runners(options.executor);
  return Campaign(options, make_runner, observer).run();
}

}  // namespace reshardcheck
