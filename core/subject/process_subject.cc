// A session takes its process out of the pool when it is opened and gives it back when it is closed, so that nobody
// else talks to it meanwhile. Where one process hosts all ranks, it is rank 0's session that has it; the ranks show
// each other their local tensors, through the subject that they share, between two barriers.
#include "core/subject/process_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "core/layout/printable.h"
#include "core/subject/capabilities.h"

namespace reshardcheck {
namespace {

/// Processes without a session, by rank. Ranks may be threads.
class ProcessPool {
 public:
  ProcessPool(std::vector<std::string> words, const ProcessOptions& options)
      : words_(std::move(words)), options_(options) {}

  /// From the next process taken on.
  void set_patience(const Patience& patience) {
    const std::scoped_lock lock(mutex_);
    options_.deadline_ms = patience.answer_ms;
    options_.hello_ms = patience.start_ms;
  }

  /// Has a process for every one of the ranks, as far as they come up; they come up at the same time.
  void fill(LocalRanks ranks) {
    std::vector<std::pair<Rank, std::unique_ptr<HostedProcess>>> started;
    for (Rank rank = ranks.first; rank < ranks.first + ranks.count; ++rank) {
      std::unique_ptr<HostedProcess> process = take_idle(rank);
      if (process == nullptr) {
        Result<std::unique_ptr<HostedProcess>> begun = HostedProcess::start(words_, options());
        if (begun) started.emplace_back(rank, std::move(begun.value()));
      }
      give(rank, std::move(process));
    }
    for (auto& [rank, process] : started) {
      if (process->greet()) give(rank, std::move(process));
    }
  }

  /// One that lives, or a new one.
  Result<std::unique_ptr<HostedProcess>> take(Rank rank) {
    std::unique_ptr<HostedProcess> idle = take_idle(rank);
    if (idle != nullptr) return idle;
    Result<std::unique_ptr<HostedProcess>> started = HostedProcess::start(words_, options());
    if (!started) return started.error();
    const Status greeted = started.value()->greet();
    if (!greeted) return greeted.error();
    return started;
  }

  void give(Rank rank, std::unique_ptr<HostedProcess> process) {
    if (process == nullptr || process->failure()) return;
    const std::scoped_lock lock(mutex_);
    idle_.insert_or_assign(rank, std::move(process));
  }

 private:
  ProcessOptions options() {
    const std::scoped_lock lock(mutex_);
    return options_;
  }

  std::unique_ptr<HostedProcess> take_idle(Rank rank) {
    const std::scoped_lock lock(mutex_);
    const auto found = idle_.find(rank);
    if (found == idle_.end()) return nullptr;
    std::unique_ptr<HostedProcess> process = std::move(found->second);
    idle_.erase(found);
    if (process->failure()) return nullptr;
    process->set_options(options_);
    return process;
  }

  std::vector<std::string> words_;
  std::mutex mutex_;
  ProcessOptions options_;
  std::map<Rank, std::unique_ptr<HostedProcess>> idle_;
};

/// What the ranks of this process show each other during a call, and what came of it.
struct SharedCall {
  std::mutex mutex;
  std::map<Rank, std::vector<BatchTensor>> shown;
  Outcome outcome;
  std::string died;  // why, when the process did
};

/// What the sessions of a subject share. They may outlive it.
struct SharedState {
  SharedState(std::vector<std::string> words, const ProcessOptions& options) : pool(std::move(words), options) {}

  std::optional<std::string> refusal_of_case() {
    const std::scoped_lock lock(mutex);
    return refusal;
  }

  ProcessPool pool;
  SharedCall call;
  std::mutex mutex;
  std::optional<std::string> refusal;  // of the case that the subject was asked about last
};

// --- 1. sessions ----------------------------------------------------------------------------------------------------

/// A session's hold on a process: opened, and in the end closed and given back.
class Hold {
 public:
  /// `rank` as in HostedProcess::open. Throws when the process dies.
  Hold(std::shared_ptr<SharedState> state, Rank rank, Rank world_ranks, const SessionOptions& options)
      : state_(std::move(state)), place_(std::max<Rank>(rank, 0)) {
    const auto open = [&] {
      Result<std::unique_ptr<HostedProcess>> taken = state_->pool.take(place_);
      process_ = taken ? std::move(taken.value()) : nullptr;
      if (!taken) opened_ = Outcome::error("no process: " + taken.error().reason);
      const bool was_used = taken && process_->was_used();
      return !taken || process_->open(rank, world_ranks, options, opened_) || !was_used;
    };
    // A process that died when it had answered its last call is no finding of this case: then it is a new one's turn.
    if (!open()) open();
    if (process_ != nullptr && process_->failure()) opened_ = process_->failure()->outcome();
  }
  ~Hold() {
    try {
      close();
    } catch (const std::runtime_error&) {  // a death that nobody asked about
    }
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  Outcome reshard(std::span<const RankBatch> ranks, Endpoint* endpoint) {
    return opened_.is_done() ? process_->reshard(ranks, endpoint) : opened_;
  }

  Outcome close() {
    std::unique_ptr<HostedProcess> process = std::move(process_);
    if (process == nullptr) return Outcome::done();
    Outcome closed = process->close();
    state_->pool.give(place_, std::move(process));
    return closed;
  }

 private:
  std::shared_ptr<SharedState> state_;
  Rank place_;  // in the pool
  std::unique_ptr<HostedProcess> process_;
  Outcome opened_;
};

/// A process per rank.
class OneRankSession : public Session {
 public:
  OneRankSession(const std::shared_ptr<SharedState>& state, Endpoint& endpoint, const SessionOptions& options)
      : hold_(state, endpoint.rank(), endpoint.world_ranks(), options) {}

  Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
    const RankBatch rank{endpoint.rank(), batch.tensors};
    return hold_.reshard({&rank, 1}, &endpoint);
  }
  Outcome close() override { return hold_.close(); }

 private:
  Hold hold_;
};

/// One process for all ranks, which rank 0 talks to.
class AllRanksSession : public Session {
 public:
  AllRanksSession(const std::shared_ptr<SharedState>& state, Endpoint& endpoint, const SessionOptions& options)
      : state_(state) {
    if (endpoint.rank() == 0) hold_.emplace(state, Rank{-1}, endpoint.world_ranks(), options);
  }

  Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
    if (endpoint.mpi_communicator() != nullptr) return not_in_one_process();
    const Showing showing(state_->call, endpoint.rank(), batch);
    CommStatus status = endpoint.barrier();
    if (status != CommStatus::ok) return Outcome::error("not all ranks came to the call", status);
    if (showing.ranks() != static_cast<std::size_t>(endpoint.world_ranks())) return not_in_one_process();
    if (endpoint.rank() == 0) run();
    status = endpoint.barrier();
    if (status != CommStatus::ok) return Outcome::error("not all ranks came to the end of the call", status);
    const std::scoped_lock lock(state_->call.mutex);
    if (!state_->call.died.empty()) throw std::runtime_error(state_->call.died);
    return state_->call.outcome;
  }
  Outcome close() override { return hold_ ? hold_->close() : Outcome::done(); }

 private:
  /// A rank's local tensors within reach of rank 0, as long as the rank is in its call.
  class Showing {
   public:
    Showing(SharedCall& call, Rank rank, const Batch& batch) : call_(call), rank_(rank) {
      const std::scoped_lock lock(call_.mutex);
      call_.shown.insert_or_assign(rank, std::vector<BatchTensor>(batch.tensors.begin(), batch.tensors.end()));
    }
    ~Showing() {
      const std::scoped_lock lock(call_.mutex);
      call_.shown.erase(rank_);
    }
    Showing(const Showing&) = delete;
    Showing& operator=(const Showing&) = delete;

    [[nodiscard]] std::size_t ranks() const {
      const std::scoped_lock lock(call_.mutex);
      return call_.shown.size();
    }

   private:
    SharedCall& call_;
    Rank rank_;
  };

  static Outcome not_in_one_process() {
    return Outcome::unsupported("the process hosts all ranks, and they are not all in one process here");
  }

  /// Holds the lock throughout: a rank that gives up meanwhile does not leave with its buffers before this is over.
  void run() {
    SharedCall& call = state_->call;
    const std::scoped_lock lock(call.mutex);
    std::vector<RankBatch> ranks;
    for (const auto& [rank, tensors] : call.shown) ranks.push_back({rank, tensors});
    call.died.clear();
    try {
      call.outcome = hold_->reshard(ranks, nullptr);
    } catch (const std::runtime_error& death) {
      call.died = death.what();
    }
  }

  std::shared_ptr<SharedState> state_;
  std::optional<Hold> hold_;
};

/// Says no to every call of a case that the subject has declared it does not take, and opens the real session when a
/// call is to be made: a world that is refused for its size must not cost a process per rank.
class GuardedSession : public Session {
 public:
  GuardedSession(std::shared_ptr<SharedState> state, bool hosts_all_ranks, const SessionOptions& options)
      : state_(std::move(state)), hosts_all_ranks_(hosts_all_ranks), options_(options) {}

  Outcome reshard(Endpoint& endpoint, const Batch& batch) override {
    if (std::optional<std::string> refusal = state_->refusal_of_case()) return Outcome::unsupported(*refusal);
    if (session_ == nullptr && hosts_all_ranks_) {
      session_ = std::make_unique<AllRanksSession>(state_, endpoint, options_);
    } else if (session_ == nullptr) {
      session_ = std::make_unique<OneRankSession>(state_, endpoint, options_);
    }
    return session_->reshard(endpoint, batch);
  }
  Outcome close() override { return session_ == nullptr ? Outcome::done() : session_->close(); }

 private:
  std::shared_ptr<SharedState> state_;
  bool hosts_all_ranks_;
  SessionOptions options_;
  std::unique_ptr<Session> session_;
};

// --- 2. the subject -------------------------------------------------------------------------------------------------

class ProcessSubject : public Subject {
 public:
  ProcessSubject(std::string name, const Hello& hello, std::shared_ptr<SharedState> state, std::int64_t max_processes)
      : name_(std::move(name)), hello_(hello), state_(std::move(state)), max_processes_(max_processes) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] bool promises_minimal_traffic() const override { return hello_.capabilities.minimal_traffic != 0; }
  [[nodiscard]] std::optional<std::string> unsupported(const Case& value) const override;
  [[nodiscard]] bool starts_processes() const override { return true; }
  void prepare(const Case& value, LocalRanks ranks, const Patience& patience) override;
  std::unique_ptr<Session> open(Endpoint& endpoint, const SessionOptions& options) override;

 private:
  std::string name_;
  Hello hello_;
  std::shared_ptr<SharedState> state_;
  std::int64_t max_processes_;
};

/// Remembers the answer: the calls that follow are of this case, and batches of it do not show what it is.
std::optional<std::string> ProcessSubject::unsupported(const Case& value) const {
  std::optional<std::string> refusal = outside_of(hello_.capabilities, value);
  if (!refusal && !hello_.hosts_all_ranks && value.world_ranks() > max_processes_) {
    refusal =
        fmt::format("{} ranks would be as many processes; at most {} are started", value.world_ranks(), max_processes_);
  }
  const std::scoped_lock lock(state_->mutex);
  state_->refusal = refusal;
  return refusal;
}

void ProcessSubject::prepare(const Case& value, LocalRanks ranks, const Patience& patience) {
  state_->pool.set_patience(patience);
  if (unsupported(value)) return;
  if (hello_.hosts_all_ranks) ranks = {0, ranks.contain(0) ? 1 : 0};
  state_->pool.fill(ranks);
}

std::unique_ptr<Session> ProcessSubject::open(Endpoint&, const SessionOptions& options) {
  return std::make_unique<GuardedSession>(state_, hello_.hosts_all_ranks, options);
}

}  // namespace

Result<std::unique_ptr<Subject>> make_process_subject(std::string_view name, const ProcessOptions& options) {
  Result<std::vector<std::string>> words = split_command(name.substr(process_subject_prefix.size()));
  if (!words) return Error{"proc: " + words.error().reason};
  auto state = std::make_shared<SharedState>(*words, options);
  Result<std::unique_ptr<HostedProcess>> first = state->pool.take(0);
  if (!first) return Error{fmt::format("{}: {}", printable(name, 100), first.error().reason)};
  const Hello hello = first.value()->hello();
  state->pool.give(0, std::move(first.value()));
  return std::unique_ptr<Subject>(
      std::make_unique<ProcessSubject>(std::string(name), hello, std::move(state), options.max_processes));
}

}  // namespace reshardcheck
