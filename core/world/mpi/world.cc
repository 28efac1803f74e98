// The rank of this process: its endpoint, its polled waits, and how it comes back together with the others.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "core/layout/result.h"
#include "core/world/mpi.h"
#include "core/world/mpi/meeting.h"
#include "core/world/mpi/messages.h"
#include "core/world/mpi/mpi_call.h"
#include "core/world/mpi/rounds.h"
#include "core/world/requests.h"

namespace reshardcheck {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What the first `world_ranks` processes communicate through; null on the others.
struct Group {
  MPI_Comm meetings = MPI_COMM_NULL;
  MPI_Comm subject = MPI_COMM_NULL;
  bool disturbed = false;  // a run failed, and nobody knows what the subject left in its communicator
};

Standing standing_in(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::barrier:
      return Standing::barrier;
    case CollectiveKind::broadcast:
      return Standing::broadcast;
    case CollectiveKind::allreduce:
      break;
  }
  return Standing::allreduce;
}

}  // namespace

class MpiWorld::Implementation final : public Endpoint {
 public:
  explicit Implementation(const MpiWorldOptions& options)
      : options_(options),
        rounds_(failure_),
        messages_(failure_, options.count_bytes),
        meeting_(failure_, options.count_bytes) {
    open();
  }
  ~Implementation() override;

  WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic);
  bool renew();
  std::vector<std::string> exchange(std::string_view text, std::int64_t deadline_ms);
  [[nodiscard]] const MpiFailure& failure() const { return failure_; }
  [[nodiscard]] Rank process() const { return process_; }
  [[nodiscard]] Rank processes() const { return processes_; }

  [[nodiscard]] Rank rank() const override { return process_; }
  [[nodiscard]] Rank world_ranks() const override { return static_cast<Rank>(world_ranks_); }
  [[nodiscard]] void* mpi_communicator() override { return &group_->subject; }

  Request post_send(Rank to, std::span<const std::byte> message) override;
  Request post_receive(Rank from, std::span<std::byte> buffer) override;
  CommStatus wait(Request request) override;
  CommStatus barrier() override { return join({.kind = CollectiveKind::barrier}); }
  CommStatus broadcast(Rank root, std::span<std::byte> buffer) override {
    return join({.kind = CollectiveKind::broadcast, .root = root, .buffer = buffer});
  }
  CommStatus allreduce(std::span<std::uint64_t> values, Reduction reduction) override {
    return join({.kind = CollectiveKind::allreduce, .reduction = reduction, .values = values});
  }

 private:
  /// A request that has not been waited for. Without an operation its status was known at the post.
  struct Open {
    MpiMessages::Operation* operation = nullptr;
    CommStatus status = CommStatus::ok;
  };
  /// The wait a rank stands at: its peer, or the root, and the reduction of a collective.
  struct Place {
    RankWait wait;
    Reduction reduction = Reduction::sum;
  };
  /// What changes whenever the rank has gone on.
  struct Progress {
    std::int64_t calls = -1;
    std::int64_t traffic = 0;
    friend bool operator==(const Progress&, const Progress&) = default;
  };

  void open();
  void close();
  bool all_here(MpiTime until);
  void begin(const RunOptions& options);
  void prepare_group(std::size_t world_ranks);
  void split(MPI_Comm& communicator, bool member);
  void run_body(const RankBody& body);
  bool come_back();
  WorldOutcome clear_away();
  CommStatus enter(Rank peer);
  CommStatus join(const CollectiveEntry& entry);
  template <typename Done>
  bool wait_until(const Place& place, Done done);
  void meet_others(MpiTime now);
  void join_round();
  void fail(CommStatus status);

  const MpiWorldOptions options_;
  MpiFailure failure_;
  MpiRounds rounds_;
  MpiMessages messages_;
  MpiMeeting meeting_;
  std::map<std::size_t, Group> groups_;  // by world_ranks
  Group* group_ = nullptr;               // of this run
  Rank process_ = 0;
  Rank processes_ = 0;
  std::int64_t run_number_ = 0;

  // The run at hand.
  std::size_t world_ranks_ = 0;
  MpiTime deadline_;
  Requests<Open> requests_;
  std::int64_t calls_ = 0;
  bool returned_ = false;
  Place place_;
  CommStatus failed_ = CommStatus::ok;  // why operations fail from now on
  Place failed_at_;
  MpiTime next_round_;
  Progress at_last_round_;
  std::exception_ptr escaped_;
};

// ---- The endpoint ----------------------------------------------------------------------------------------------

CommStatus MpiWorld::Implementation::enter(Rank peer) {
  ++calls_;
  if (failed_ != CommStatus::ok) return failed_;
  if (peer < 0 || static_cast<std::size_t>(peer) >= world_ranks_) return CommStatus::bad_argument;
  return CommStatus::ok;
}

Request MpiWorld::Implementation::post_send(Rank to, std::span<const std::byte> message) {
  if (const CommStatus status = enter(to); status != CommStatus::ok) return requests_.keep({nullptr, status});
  return requests_.keep({&messages_.post_send(to, message), CommStatus::ok});
}

Request MpiWorld::Implementation::post_receive(Rank from, std::span<std::byte> buffer) {
  if (const CommStatus status = enter(from); status != CommStatus::ok) return requests_.keep({nullptr, status});
  return requests_.keep({&messages_.post_receive(from, buffer), CommStatus::ok});
}

CommStatus MpiWorld::Implementation::wait(Request request) {
  ++calls_;
  const std::optional<Open> open = requests_.take(request);
  if (!open) return CommStatus::bad_argument;
  if (open->operation == nullptr) return open->status;
  MpiMessages::Operation& operation = *open->operation;
  if (!wait_until({.wait = operation.standing()}, [&] { return messages_.done(operation); })) {
    messages_.take_back(operation);
    return failed_;
  }
  const CommStatus status = operation.status;
  messages_.release(operation);
  return status;
}

CommStatus MpiWorld::Implementation::join(const CollectiveEntry& entry) {
  if (const CommStatus status = enter(entry.root); status != CommStatus::ok) return status;
  meeting_.join(entry);
  const Place place{.wait = {.standing = standing_in(entry.kind), .peer = entry.root}, .reduction = entry.reduction};
  if (!wait_until(place, [&] { return meeting_.over(messages_.traffic()); })) return failed_;
  if (!meeting_.disagree()) return meeting_.status();
  fail(CommStatus::deadlock);
  return failed_;
}

/// Polls until the wait is over; false when it fails, and with it all that the rank does from now on.
template <typename Done>
bool MpiWorld::Implementation::wait_until(const Place& place, Done done) {
  place_ = place;
  if (done()) return true;
  next_round_ = Clock::now() + milliseconds(options_.patience_ms);
  while (failed_ == CommStatus::ok) {
    messages_.progress();
    if (done()) return true;
    const MpiTime now = Clock::now();
    meet_others(now);
    if (now > deadline_) fail(CommStatus::deadline);
    if (failure_.any()) fail(CommStatus::peer_lost);
    mpi_yield();
  }
  return false;
}

/// For a rank that waits: goes on with the round it is in, or joins one when it has waited long enough.
void MpiWorld::Implementation::meet_others(MpiTime now) {
  if (rounds_.joined()) {
    if (!rounds_.over()) return;
    next_round_ = now + milliseconds(options_.patience_ms);
    if (conclude(rounds_.records(), world_ranks_) == MpiConclusion::deadlock) fail(CommStatus::deadlock);
  } else if (now >= next_round_) {
    join_round();
  }
}

void MpiWorld::Implementation::join_round() {
  messages_.test_all();
  const MpiMessages::Counts& counts = messages_.counts();
  const Progress progress{.calls = calls_, .traffic = counts.total()};
  const Place place = failed_ == CommStatus::ok ? (returned_ ? Place{} : place_) : failed_at_;
  MpiRecord record;
  record.failed = failed_;
  record.standing = place.wait.standing;
  record.reduction = place.reduction;
  record.returned = returned_;
  record.unchanged = progress == at_last_round_;
  record.moving = !returned_ && meeting_.moving();
  record.peer = place.wait.peer;
  record.collectives = meeting_.joined();
  record.tokens_sent = counts.tokens_sent;
  record.tokens_received = counts.tokens_received;
  record.payloads_sent = counts.payloads_sent;
  record.payloads_received = counts.payloads_received;
  record.left_behind = returned_ ? messages_.left_behind() : 0;
  at_last_round_ = progress;
  rounds_.join(record);
}

void MpiWorld::Implementation::fail(CommStatus status) {
  if (failed_ != CommStatus::ok) return;
  failed_ = status;
  failed_at_ = place_;
}

// ---- The run ---------------------------------------------------------------------------------------------------

WorldOutcome MpiWorld::Implementation::run(const RunOptions& options, const RankBody& body, Traffic& traffic) {
  begin(options);
  if (!failure_.any() && !returned_) run_body(body);
  WorldOutcome outcome;
  if (!failure_.any() && come_back()) outcome = clear_away();
  traffic = messages_.traffic().total();
  outcome.unreceived_messages = messages_.unreceived_messages();
  if (failure_.any()) {
    outcome.status = failed_ == CommStatus::deadline ? failed_ : CommStatus::peer_lost;
    outcome.stuck = failure_.reason();
  }
  if (group_ != nullptr) group_->disturbed = outcome.status != CommStatus::ok;
  if (escaped_) std::rethrow_exception(std::exchange(escaped_, nullptr));
  return outcome;
}

void MpiWorld::Implementation::begin(const RunOptions& options) {
  const std::int64_t limit_ms = options.deadline_ms > 0 ? options.deadline_ms : options_.longest_run_ms;
  deadline_ = Clock::now() + milliseconds(limit_ms);
  world_ranks_ = static_cast<std::size_t>(options.world_ranks);
  requests_.begin();
  calls_ = 0;
  returned_ = process_ >= world_ranks();  // an idle process is back already
  place_ = {};
  failed_ = CommStatus::ok;
  failed_at_ = {};
  at_last_round_ = {};
  escaped_ = nullptr;
  messages_.begin(++run_number_, options.topology);
  prepare_group(world_ranks_);
  if (!failure_.any()) meeting_.begin(group_->meetings);
}

/// Splitting a communicator blocks, so all processes are seen to be there first.
void MpiWorld::Implementation::prepare_group(std::size_t world_ranks) {
  const bool known = groups_.contains(world_ranks);
  group_ = &groups_[world_ranks];
  if (known && !group_->disturbed) return;
  if (!all_here(deadline_)) return;
  const bool member = static_cast<std::size_t>(process_) < world_ranks;
  if (!known) split(group_->meetings, member);
  if (group_->subject != MPI_COMM_NULL) failure_.check(RESHARDCHECK_MPI(MPI_Comm_free(&group_->subject)));
  split(group_->subject, member);
  // The subject gets what a program of its own would have.
  if (group_->subject != MPI_COMM_NULL) {
    failure_.check(RESHARDCHECK_MPI(MPI_Comm_set_errhandler(group_->subject, MPI_ERRORS_ARE_FATAL)));
  }
}

void MpiWorld::Implementation::split(MPI_Comm& communicator, bool member) {
  if (failure_.any()) return;
  failure_.check(
      RESHARDCHECK_MPI(MPI_Comm_split(rounds_.communicator(), member ? 0 : MPI_UNDEFINED, process_, &communicator)));
}

bool MpiWorld::Implementation::all_here(MpiTime until) {
  MPI_Request request = MPI_REQUEST_NULL;
  failure_.check(RESHARDCHECK_MPI(MPI_Ibarrier(rounds_.communicator(), &request)));
  if (failure_.any() || mpi_complete(request, until, failure_)) return !failure_.any();
  failure_.set(fmt::format("rank {}: not every process of the mpi world has come to the run", process_));
  return false;
}

void MpiWorld::Implementation::run_body(const RankBody& body) {
  try {
    body(*this);
  } catch (...) {
    escaped_ = std::current_exception();
  }
  requests_.take_all([this](const Open& open) {
    if (open.operation != nullptr) messages_.take_back(*open.operation);
  });
  returned_ = true;
}

/// Joins rounds until all have returned; false when some do not, which spends the world.
bool MpiWorld::Implementation::come_back() {
  const MpiTime until = deadline_ + milliseconds(options_.grace_ms);
  while (!failure_.any()) {
    messages_.progress();
    if (rounds_.joined()) {
      if (rounds_.over() && conclude(rounds_.records(), world_ranks_) == MpiConclusion::all_returned) return true;
    } else if (messages_.receives_settled()) {
      join_round();
    }
    messages_.sweep(until);
    if (Clock::now() > until) {
      fail(CommStatus::deadline);
      failure_.set(
          fmt::format("rank {}: not all ranks came back within {} ms of the deadline", process_, options_.grace_ms));
    }
    mpi_yield();
  }
  return false;
}

/// What bodies have left behind is the same news to all, so all clear it away together.
WorldOutcome MpiWorld::Implementation::clear_away() {
  const std::span<const MpiRecord> ranks = rounds_.records().first(world_ranks_);
  std::int64_t most_collectives = 0;
  std::int64_t left_behind = 0;
  for (const MpiRecord& record : ranks) {
    most_collectives = std::max(most_collectives, record.collectives);
    left_behind += record.left_behind;
  }
  const MpiTime until = Clock::now() + milliseconds(options_.grace_ms);
  const bool clear =
      meeting_.settle(most_collectives, until) && (left_behind == 0 || messages_.drain(rounds_.communicator(), until));
  if (!clear) failure_.set(fmt::format("rank {}: what the run left behind could not be cleared away", process_));
  return outcome_of(rounds_.records(), world_ranks_);
}

// ---- The world -------------------------------------------------------------------------------------------------

void MpiWorld::Implementation::open() {
  int process = 0;
  int processes = 0;
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &process)));
  failure_.check(RESHARDCHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &processes)));
  process_ = process;
  processes_ = processes;
  rounds_.open(MPI_COMM_WORLD);
  if (!failure_.any()) messages_.open(rounds_.communicator());
}

void MpiWorld::Implementation::close() {
  for (auto& [ranks, group] : groups_) {
    for (MPI_Comm* communicator : {&group.meetings, &group.subject}) {
      if (*communicator != MPI_COMM_NULL) failure_.check(RESHARDCHECK_MPI(MPI_Comm_free(communicator)));
    }
  }
  groups_.clear();
  group_ = nullptr;
  messages_.close();
  rounds_.close();
}

/// A spent world leaves its communicators to MPI: freeing them could wait for ranks that never come.
MpiWorld::Implementation::~Implementation() {
  int finalized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0 && !failure_.any()) close();
}

bool MpiWorld::Implementation::renew() {
  if (failure_.any() || !all_here(Clock::now() + milliseconds(options_.longest_run_ms))) return false;
  close();
  if (!failure_.any()) open();
  return !failure_.any();
}

/// Lengths first; texts only when there is one.
std::vector<std::string> MpiWorld::Implementation::exchange(std::string_view text, std::int64_t deadline_ms) {
  if (failure_.any()) return {};
  const MpiTime until = deadline_ms > 0 ? Clock::now() + milliseconds(deadline_ms) : MpiTime::max();
  const auto processes = static_cast<std::size_t>(processes_);
  const auto own_bytes = static_cast<std::int64_t>(text.size());
  std::vector<std::int64_t> bytes(processes);
  MPI_Request request = MPI_REQUEST_NULL;
  failure_.check(RESHARDCHECK_MPI(
      MPI_Iallgather(&own_bytes, 1, MPI_INT64_T, bytes.data(), 1, MPI_INT64_T, rounds_.communicator(), &request)));
  if (failure_.any() || !mpi_complete_asleep(request, until, failure_)) {
    failure_.set(fmt::format("rank {}: not every process of the mpi world has come to an exchange", process_));
    return {};
  }
  std::vector<int> counts(processes);
  std::vector<int> places(processes);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < processes; ++i) {
    places[i] = static_cast<int>(total);
    counts[i] = static_cast<int>(bytes[i]);
    total += bytes[i];
    if (bytes[i] < 0 || total > INT32_MAX) {
      failure_.set(fmt::format("rank {}: an exchange of {} bytes or more", process_, total));
      return {};
    }
  }
  std::vector<std::string> texts(processes);
  if (total == 0) return texts;
  std::string all(static_cast<std::size_t>(total), '\0');
  failure_.check(
      RESHARDCHECK_MPI(MPI_Iallgatherv(text.data(), static_cast<int>(text.size()), MPI_BYTE, all.data(), counts.data(),
                                       places.data(), MPI_BYTE, rounds_.communicator(), &request)));
  if (failure_.any() || !mpi_complete_asleep(request, until, failure_)) {
    failure_.set(fmt::format("rank {}: an exchange did not come to its end", process_));
    return {};
  }
  for (std::size_t i = 0; i < processes; ++i) {
    texts[i] = all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(bytes[i]));
  }
  return texts;
}

MpiWorld::MpiWorld(MpiWorldOptions options) : implementation_(std::make_unique<Implementation>(options)) {}
MpiWorld::~MpiWorld() = default;

std::optional<std::string> MpiWorld::unsupported(const RunOptions& options) const {
  if (spent()) return failure();
  if (!options.faults.empty()) return "the mpi world injects no faults; the sim world does";
  if (options.world_ranks >= 0 && options.world_ranks <= processes()) return std::nullopt;
  return fmt::format("the mpi world has {} processes, which hold 0 to {} ranks, not {}", processes(), processes(),
                     options.world_ranks);
}

LocalRanks MpiWorld::local_ranks(std::int64_t world_ranks) const {
  if (process() < world_ranks) return {.first = process(), .count = 1};
  return {};
}

WorldOutcome MpiWorld::run(const RunOptions& options, const RankBody& body, Traffic& traffic) {
  RESHARDCHECK_CHECK(!unsupported(options));
  return implementation_->run(options, body, traffic);
}

bool MpiWorld::renew() { return implementation_->renew(); }
bool MpiWorld::spent() const { return implementation_->failure().any(); }
Rank MpiWorld::process() const { return implementation_->process(); }
Rank MpiWorld::processes() const { return implementation_->processes(); }
std::vector<std::string> MpiWorld::exchange(std::string_view text, std::int64_t deadline_ms) {
  return implementation_->exchange(text, deadline_ms);
}
const std::string& MpiWorld::failure() const { return implementation_->failure().reason(); }

}  // namespace reshardcheck
