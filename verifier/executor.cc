// The world is run once per call, so that traffic and faults count per call; sessions live through all of them. All
// that needs no communication (fill, poison, check) happens between the runs, rank by rank.
#include "verifier/executor.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include "core/layout/notation.h"
#include "core/plan/planner.h"
#include "core/plan/prover.h"
#include "core/world/sim.h"
#include "verifier/fingerprint_oracle.h"
#include "verifier/gather_broadcast_oracle.h"
#include "verifier/judge.h"
#include "verifier/layout_table.h"
#include "verifier/mix.h"
#include "verifier/naive_oracle.h"
#include "verifier/rank_check.h"
#include "verifier/rank_report_json.h"

namespace reshardcheck {
namespace {

/// Memory for the local tensors of all ranks, kept from case to case.
class Arena {
 public:
  ~Arena() { release(); }
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* reserve(std::int64_t bytes) {
    if (bytes > size_bytes_) {
      release();
      memory_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), alignment));
      size_bytes_ = bytes;
    }
    return memory_;
  }

 private:
  static constexpr std::align_val_t alignment{guard_bytes};
  void release() {
    ::operator delete(memory_, alignment);
    memory_ = nullptr;
    size_bytes_ = 0;
  }
  std::byte* memory_ = nullptr;
  std::int64_t size_bytes_ = 0;
};

/// Bytes that the gather-broadcast tensors and the lower bound of the others let cross domains in one call.
std::uint64_t allowed_across_domains_bytes(const Case& value, const Topology& topology) {
  std::uint64_t allowed = 0;
  for (const Geometry& geometry : distinct_geometries(value)) {
    const TensorCase& tensor = value.tensors[geometry.first];
    std::int64_t crossing = 0;
    if (tensor.path == Path::reshard) {
      crossing = across_domains_bound(tensor.source, tensor.target, topology);
    } else {
      const Plan plan = make_plan(PlannerKind::gather_broadcast, tensor.source, tensor.target, topology);
      for (const Transfer& transfer : plan.transfers) {
        if (!topology.same_domain(transfer.from, transfer.to)) {
          crossing += plan.message_elements(transfer, elements(tensor.shape()));
        }
      }
    }
    allowed += static_cast<std::uint64_t>(crossing * width_bytes(tensor.dtype)) * geometry.tensors;
  }
  return allowed;
}

/// Every rank that should hold something holds it already: nothing has to move.
bool moves_nothing(const Case& value) {
  return std::all_of(value.tensors.begin(), value.tensors.end(), [](const TensorCase& tensor) {
    return tensor.path == Path::reshard && tensor.source == tensor.target;
  });
}

/// What the processes of a world tell each other of a call, as text.
struct Tally {
  std::uint64_t done = 1;  // on every rank
  std::uint64_t clean = 1;
  std::uint64_t unreceived_messages = 0;
  std::uint64_t within_domains_bytes = 0;
  std::uint64_t across_domains_bytes = 0;
};
using TallyText = std::array<char, sizeof(Tally)>;

/// The fingerprint's key. Nobody chooses a subject's data to fool it.
constexpr FingerprintKeyBytes fingerprint_key{0x72, 0x65, 0x73, 0x68, 0x61, 0x72, 0x64, 0x63,
                                              0x68, 0x65, 0x63, 0x6b, 0x2d, 0x72, 0x75, 0x6e};

/// A sum that stays at the largest number once it has reached it.
void add(std::int64_t& total, std::int64_t more) {
  if (__builtin_add_overflow(total, more, &total)) total = INT64_MAX;
}

}  // namespace

class Executor::Implementation {
 public:
  Implementation(World* world, ExecutorOptions options)
      : options_(options),
        own_world_(world == nullptr ? std::make_unique<SimWorld>() : nullptr),
        world_(world == nullptr ? *own_world_ : *world),
        key_(fingerprint_key) {}

  Result<Verdict> run(const Case& value, Subject& subject, SequenceStep step);
  void set_deadline_ms(std::int64_t deadline_ms) { options_.deadline_ms = deadline_ms; }
  [[nodiscard]] const ProvenanceReport& provenance() const { return provenance_; }

 private:
  void prepare(const Case& value, Subject& subject, SequenceStep step);
  void close_sessions();
  [[nodiscard]] bool many_processes() const { return world_.processes() > 1; }
  bool agree_on_case();
  bool agree(Tally& tally);
  void run_calls();
  bool run_call(Call call);
  void check_call(Call call);
  void check_refused(Call call);
  void measure_traffic(Call call);
  void run_gather_broadcast(Call call);
  void compare_fingerprints();
  void prove_plans();
  Verdict conclude();
  void gather_reports();
  [[nodiscard]] bool ranks_clean() const;
  /// Those of this process.
  [[nodiscard]] std::span<RankCheck> ranks() { return std::span(ranks_).subspan(first_rank_, rank_count_); }
  [[nodiscard]] std::span<const RankCheck> ranks() const { return std::span(ranks_).subspan(first_rank_, rank_count_); }
  [[nodiscard]] RunOptions run_options(Call call, bool faults) const;

  ExecutorOptions options_;
  std::unique_ptr<World> own_world_;
  World& world_;
  FingerprintKey key_;
  Arena arena_;
  Fill fill_;
  NaiveMaps maps_;
  std::vector<RankCheck> ranks_;  // keeps those of larger worlds for their memory
  std::vector<RankReport> reports_;
  ProvenanceReport provenance_;

  // The case at hand.
  const Case* case_ = nullptr;
  Subject* subject_ = nullptr;
  std::size_t world_ranks_ = 0;
  std::size_t first_rank_ = 0;  // of this process
  std::size_t rank_count_ = 0;
  SessionOptions session_options_;
  bool clean_ = true;           // nothing wrong seen on any rank of any process
  bool sessions_open_ = false;  // those of the step before, on as many ranks and with the same options
  Traffic traffic_;             // of the last call
  std::optional<std::uint64_t> allowed_bytes_;
  Evidence evidence_;
};

Result<Verdict> Executor::Implementation::run(const Case& value, Subject& subject, SequenceStep step) {
  const Result<std::int64_t> needed = bytes_needed(value);
  if (!needed || *needed > options_.max_bytes) close_sessions();
  if (!needed) return needed.error();
  if (*needed > options_.max_bytes) {
    return Error{fmt::format("the case needs {} bytes of memory, {} are allowed", *needed, options_.max_bytes)};
  }
  RunOptions first_run;
  first_run.world_ranks = value.world_ranks();
  first_run.faults = value.options.faults;
  if (std::optional<std::string> reason = world_.unsupported(first_run)) {
    close_sessions();
    return Error{*std::move(reason)};
  }
  prepare(value, subject, step);
  if (agree_on_case()) run_calls();
  if (options_.oracles.prover && clean_ && ranks_clean()) prove_plans();
  sessions_open_ = true;
  if (step.last && clean_ && ranks_clean()) close_sessions();  // how they end is part of the case
  Verdict verdict = conclude();
  if (step.last || verdict.failed() || !value.options.faults.empty()) close_sessions();
  return verdict;
}

void Executor::Implementation::close_sessions() {
  for (RankCheck& rank : ranks_) rank.close();
  sessions_open_ = false;
}

void Executor::Implementation::prepare(const Case& value, Subject& subject, SequenceStep step) {
  const auto world_ranks = static_cast<std::size_t>(value.world_ranks());
  const SessionOptions session_options{Topology::of(value.options), value.options.chunk_bytes};
  const bool same_world = world_ranks == world_ranks_ && session_options == session_options_;
  if (step.first || !same_world) close_sessions();
  if (!step.first && !same_world) world_.renew();  // a world that does not come back says so when it runs
  case_ = &value;
  subject_ = &subject;
  world_ranks_ = world_ranks;
  const LocalRanks local = world_.local_ranks(value.world_ranks());
  first_rank_ = static_cast<std::size_t>(local.first);
  rank_count_ = static_cast<std::size_t>(local.count);
  clean_ = true;
  session_options_ = session_options;
  allowed_bytes_.reset();
  evidence_ = Evidence{};
  evidence_.value = case_;
  evidence_.fill = &fill_;
  evidence_.declared_unsupported = subject.unsupported(value).has_value();
  provenance_ = {};

  fill_.assign(value);
  if (options_.oracles.naive || options_.oracles.gather_broadcast) maps_.assign(value);
  if (ranks_.size() < world_ranks_) ranks_.resize(world_ranks_);
  std::int64_t bytes = 0;
  for (std::size_t rank = first_rank_; rank < first_rank_ + rank_count_; ++rank) {
    ranks_[rank].assign(value, fill_, static_cast<Rank>(rank));
    bytes += ranks_[rank].bytes();
  }
  std::byte* memory = arena_.reserve(bytes);
  for (RankCheck& rank : ranks()) {
    rank.place(memory);
    memory += rank.bytes();
  }
  if (step.first) subject.begin_case();
}

/// Nothing moves before all processes hold the same case and the same plans.
bool Executor::Implementation::agree_on_case() {
  if (!many_processes()) return true;
  const std::string text = to_text(*case_);
  std::uint64_t hash = XXH3_64bits(text.data(), text.size());
  for (const Geometry& geometry : distinct_geometries(*case_)) {
    const std::optional<Plan> plan = subject_->plan(case_->tensors[geometry.first], session_options_);
    if (!plan) continue;
    std::string words;
    for (const Transfer& transfer : plan->transfers) words += reshardcheck::to_text(*plan, transfer);
    hash = XXH3_64bits_withSeed(words.data(), words.size(), hash);
  }
  const std::vector<std::string> hashes = world_.exchange(fmt::format("{:016x}", hash), options_.deadline_ms);
  for (std::size_t process = 1; process < hashes.size(); ++process) {
    if (hashes[process] == hashes[0]) continue;
    evidence_.disagreement = fmt::format("processes 0 and {} made different plans for the case", process);
    clean_ = false;
    return false;
  }
  return !hashes.empty();
}

/// Makes the tally of this process that of all. False when the world is spent.
bool Executor::Implementation::agree(Tally& tally) {
  if (!many_processes()) return true;
  TallyText text;
  std::memcpy(text.data(), &tally, sizeof tally);
  const std::vector<std::string> tallies =
      world_.exchange(std::string_view(text.data(), text.size()), options_.deadline_ms);
  Tally sum;
  for (const std::string& each : tallies) {
    Tally other;
    if (each.size() != sizeof other) return false;
    std::memcpy(&other, each.data(), sizeof other);
    sum.done &= other.done;
    sum.clean &= other.clean;
    sum.unreceived_messages += other.unreceived_messages;
    sum.within_domains_bytes += other.within_domains_bytes;
    sum.across_domains_bytes += other.across_domains_bytes;
  }
  tally = sum;
  return !tallies.empty();
}

/// All passes and all refits, even after a wrong element was found: its origin is decoded from all passes. A call
/// that did not come to its end on every rank ends the run.
void Executor::Implementation::run_calls() {
  for (int pass = 0; pass < fill_.passes(); ++pass) {
    for (RankCheck& rank : ranks()) rank.begin_pass(pass);
    for (int refit = 0; refit < fill_.refits(); ++refit) {
      const Call call{pass, refit};
      for (RankCheck& rank : ranks()) rank.fill_sources(call);
      if (!run_call(call)) return check_refused(call);
      check_call(call);
      measure_traffic(call);
    }
    const bool last_data_pass = pass + 1 == fill_.passes() || fill_.pass_kind(pass + 1) == PassKind::tag;
    if (!last_data_pass || fill_.pass_kind(pass) == PassKind::tag) continue;
    Tally tally{.clean = ranks_clean()};
    clean_ = agree(tally) && tally.clean != 0;
    if (options_.oracles.gather_broadcast && clean_) run_gather_broadcast({pass, fill_.refits() - 1});
    if (options_.oracles.fingerprint && clean_) compare_fingerprints();
  }
}

RunOptions Executor::Implementation::run_options(Call call, bool faults) const {
  RunOptions options;
  options.world_ranks = static_cast<std::int64_t>(world_ranks_);
  options.seed =
      mix(case_->options.seed + golden_ratio * static_cast<std::uint64_t>(call.pass * fill_.refits() + call.refit + 1));
  if (faults) options.faults = case_->options.faults;
  options.topology = session_options_.topology;
  options.deadline_ms = options_.deadline_ms;
  return options;
}

/// True when every rank is done, of all processes.
bool Executor::Implementation::run_call(Call call) {
  const bool first = call == Call{} && !sessions_open_;
  const RankBody body = [this, call, first](Endpoint& endpoint) {
    RankCheck& rank = ranks_[static_cast<std::size_t>(endpoint.rank())];
    if (first) rank.open(*subject_, endpoint, session_options_);
    rank.call(endpoint, call);
  };
  evidence_.world = world_.run(run_options(call, true), body, traffic_);
  const bool done = std::all_of(ranks().begin(), ranks().end(), [](const RankCheck& rank) {
    return !rank.report().threw && rank.report().outcome.is_done();
  });
  Tally tally{done, 1, static_cast<std::uint64_t>(evidence_.world.unreceived_messages), traffic_.within_domains_bytes,
              traffic_.across_domains_bytes};
  clean_ = agree(tally);
  traffic_.within_domains_bytes = tally.within_domains_bytes;
  traffic_.across_domains_bytes = tally.across_domains_bytes;
  evidence_.world.unreceived_messages = static_cast<std::int64_t>(tally.unreceived_messages);
  const bool left_over = tally.unreceived_messages > 0 && case_->options.faults.empty();
  clean_ = clean_ && evidence_.world.status == CommStatus::ok && !left_over && tally.done != 0;
  return clean_;
}

void Executor::Implementation::check_call(Call call) {
  for (RankCheck& rank : ranks()) {
    rank.check(call);
    if (options_.oracles.naive && rank.clean() && fill_.pass_kind(call.pass) != PassKind::tag) {
      check_naive(maps_, fill_, call, rank.buffers(), rank.report());
    }
  }
}

/// A refusal must leave the buffers alone; what other unfinished calls left in them says nothing.
void Executor::Implementation::check_refused(Call call) {
  for (RankCheck& rank : ranks()) {
    if (rank.report().outcome.kind == OutcomeKind::unsupported) rank.check_untouched(call);
  }
}

void Executor::Implementation::measure_traffic(Call call) {
  const std::uint64_t moved_bytes = traffic_.within_domains_bytes + traffic_.across_domains_bytes;
  if (moved_bytes == 0 || evidence_.excess || !case_->options.faults.empty()) return;
  if (!subject_->promises_minimal_traffic()) return;
  if (moves_nothing(*case_)) {
    evidence_.excess = TrafficExcess{call, moved_bytes, 0, true};
    return;
  }
  if (traffic_.across_domains_bytes == 0) return;
  if (!allowed_bytes_) allowed_bytes_ = allowed_across_domains_bytes(*case_, session_options_.topology);
  if (traffic_.across_domains_bytes <= *allowed_bytes_) return;
  evidence_.excess = TrafficExcess{call, traffic_.across_domains_bytes, *allowed_bytes_};
}

/// On a network without faults, and apart from the subject's messages.
void Executor::Implementation::run_gather_broadcast(Call call) {
  const RankBody body = [this, call](Endpoint& endpoint) {
    RankCheck& rank = ranks_[static_cast<std::size_t>(endpoint.rank())];
    check_by_gather_broadcast(endpoint, *case_, maps_, call, rank.buffers(), rank.report());
  };
  Traffic ignored;
  world_.run(run_options(call, false), body, ignored);
}

/// The targets of the last call against its sources, which nothing has changed since. 64 bytes a tensor and rank are
/// all that processes tell each other.
void Executor::Implementation::compare_fingerprints() {
  std::vector<std::vector<TensorStates>> states(world_ranks_);
  for (RankCheck& rank : ranks()) {
    states[static_cast<std::size_t>(rank.report().rank)] = fingerprint_rank(key_, rank.buffers().tensors());
  }
  if (many_processes()) {
    std::string own;
    for (RankCheck& rank : ranks()) own += pack_states(states[static_cast<std::size_t>(rank.report().rank)]);
    const std::vector<std::string> all = world_.exchange(own, options_.deadline_ms);
    for (std::size_t rank = 0; rank < world_ranks_ && rank < all.size(); ++rank)
      states[rank] = unpack_states(all[rank]);
    const auto whole = [this](const std::vector<TensorStates>& each) { return each.size() == case_->tensors.size(); };
    if (!std::all_of(states.begin(), states.end(), whole)) return;  // the world is spent, and will say so
  }
  if (const std::optional<FingerprintFinding> found = judge_fingerprints(key_, *case_, states)) {
    evidence_.fingerprint = found->text;
  }
}

void Executor::Implementation::prove_plans() {
  for (const Geometry& geometry : distinct_geometries(*case_)) {
    const TensorCase& tensor = case_->tensors[geometry.first];
    try {
      const std::optional<Plan> plan = subject_->plan(tensor, session_options_);
      if (!plan) continue;
      const Proof proof = prove(*plan, tensor.source, tensor.target, session_options_.topology);
      if (!proof.holds()) evidence_.plan = PlanViolation{geometry.first, proof.violations.front()};
    } catch (const std::exception& exception) {
      evidence_.plan = PlanViolation{geometry.first, {ViolationKind::bad_transfer, exception.what()}};
    }
    if (evidence_.plan) return;
  }
}

bool Executor::Implementation::ranks_clean() const {
  return std::all_of(ranks().begin(), ranks().end(), [](const RankCheck& rank) { return rank.clean(); });
}

Verdict Executor::Implementation::conclude() {
  gather_reports();
  if (case_->options.fill == FillKind::provenance) {
    provenance_ = merge_provenance(reports_, session_options_.topology);
  }
  evidence_.ranks = reports_;
  Verdict verdict = judge(evidence_);
  // What other processes saw has not arrived: that this one saw nothing wrong is no pass.
  if (!verdict.failed() && world_.spent()) {
    verdict = Verdict{};
    verdict.kind = VerdictKind::hang;
    verdict.oracle = "world";
    verdict.detail = fmt::format("the ranks have lost each other before all had said what they saw: {}",
                                 world_.unsupported(run_options({}, false)).value_or("the world is spent"));
  }
  return verdict;
}

/// The reports of all ranks, in rank order, where there is anything to report: a pass costs no copies.
void Executor::Implementation::gather_reports() {
  reports_.clear();
  const bool nothing_seen = ranks_clean() && !evidence_.plan && !evidence_.excess && !evidence_.fingerprint &&
                            evidence_.disagreement.empty() && evidence_.world.status == CommStatus::ok &&
                            evidence_.world.unreceived_messages == 0;
  // clean_ is what all processes agreed on: the ranks that did well are part of the story of those that did not.
  const bool wanted = case_->options.fill == FillKind::provenance || !nothing_seen || !clean_;
  for (RankCheck& rank : ranks()) {
    const RankReport& report = rank.report();
    const bool second_opinion = report.naive.wrong_elements > 0 || report.gather_broadcast.wrong_elements > 0 ||
                                !report.naive_disagreement.empty() || !report.gather_broadcast_failure.empty();
    if (wanted || second_opinion) reports_.push_back(report);
  }
  if (!many_processes()) return;
  const std::vector<std::string> packed =
      world_.exchange(reports_.empty() ? std::string() : pack_reports(reports_), options_.deadline_ms);
  if (packed.empty()) return;  // spent: what this process saw is all there is
  reports_.clear();
  for (const std::string& each : packed) {
    if (each.empty()) continue;
    Result<std::vector<RankReport>> reports = unpack_reports(each);
    if (!reports) continue;
    for (RankReport& report : *reports) reports_.push_back(std::move(report));
  }
}

Executor::Executor(ExecutorOptions options) : implementation_(std::make_unique<Implementation>(nullptr, options)) {}
Executor::Executor(World& world, ExecutorOptions options)
    : implementation_(std::make_unique<Implementation>(&world, options)) {}
Executor::~Executor() = default;

Result<Verdict> Executor::run(const Case& value, Subject& subject, SequenceStep step) {
  return implementation_->run(value, subject, step);
}

void Executor::set_deadline_ms(std::int64_t deadline_ms) { implementation_->set_deadline_ms(deadline_ms); }

const ProvenanceReport& Executor::provenance() const { return implementation_->provenance(); }

Result<std::int64_t> Executor::bytes_needed(const Case& value) {
  const Result<std::int64_t> buffers = LocalBuffers::bytes_of_all_ranks(value);
  if (!buffers) return buffers.error();
  std::int64_t total = *buffers;
  add(total, *buffers);  // messages: at most what all ranks hold
  add(total, value.world_ranks() * SimWorld::stack_bytes_per_rank());
  add(total, gather_broadcast_bytes(value));
  LayoutTable seen;
  for (const TensorCase& tensor : value.tensors) {
    for (const Layout* layout : {&tensor.source, &tensor.target}) {
      const std::size_t known = seen.size();
      if (seen.number_of(*layout) == known) add(total, NaiveMaps::bytes_of(*layout));
    }
  }
  if (total == INT64_MAX) return Error{"the memory the case needs overflows 64 bits"};
  return total;
}

}  // namespace reshardcheck
