// World: where ranks run and how bytes move between them.
//
// A world runs one body per rank and gives each an Endpoint. Messages between an ordered pair of ranks arrive in
// the order in which they were posted; there are no tags. A post returns at once; a send is finished when its
// receive has taken it (rendezvous), so a buffer must stay as it is until wait() returns, and a send nobody
// receives never finishes: what works here works without hidden buffering anywhere.
//
// Every wait ends. A world that sees that nothing will happen any more, or whose deadline has passed, fails all open
// waits, and the outcome of the run says what each rank was waiting for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/layout/mesh.h"
#include "core/plan/topology.h"

namespace reshardcheck {

enum class MemoryKind : std::uint8_t { host, cuda };

/// How a world operation ended.
enum class CommStatus : std::uint8_t {
  ok,
  size_mismatch,  // the message and the receive buffer differ in bytes; the shorter length was delivered
  deadlock,       // no rank can go on
  deadline,       // the world's time is up
  peer_lost,      // the other rank has died
  killed,         // this rank was killed by an injected fault: return at once
  bad_argument,   // a rank out of range, or a request that does not exist
};
[[nodiscard]] std::string_view name(CommStatus status);

/// A posted operation, valid at its endpoint until waited for.
using Request = std::uint32_t;

enum class Reduction : std::uint8_t { sum, maximum, minimum };

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual Rank world_ranks() const = 0;
  [[nodiscard]] virtual MemoryKind memory() const { return MemoryKind::host; }
  /// An MPI_Comm* of the world's ranks for subjects that speak MPI by themselves, or null where there is no MPI.
  [[nodiscard]] virtual void* mpi_communicator() { return nullptr; }

  virtual Request post_send(Rank to, std::span<const std::byte> message) = 0;
  virtual Request post_receive(Rank from, std::span<std::byte> buffer) = 0;
  virtual CommStatus wait(Request request) = 0;

  /// Collectives over all ranks of the world; every rank must call them in the same order.
  virtual CommStatus barrier() = 0;
  virtual CommStatus broadcast(Rank root, std::span<std::byte> buffer) = 0;
  virtual CommStatus allreduce(std::span<std::uint64_t> values, Reduction reduction) = 0;

  /// Blocking forms, for subjects that are written in them.
  CommStatus send(Rank to, std::span<const std::byte> message) { return wait(post_send(to, message)); }
  CommStatus receive(Rank from, std::span<std::byte> buffer) { return wait(post_receive(from, buffer)); }
};

/// Bytes that messages carried, by link class (see Topology).
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t within_domains_bytes = 0;
  std::uint64_t across_domains_bytes = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// How a run of a body on all ranks ended. `stuck` names, when ranks could not go on, who waited for whom
/// ("rank 0 waits for a message from rank 1; rank 1 waits for ..."), the circle first when there is one.
struct WorldOutcome {
  CommStatus status = CommStatus::ok;  // ok, deadlock, deadline or peer_lost
  std::string stuck;
  std::int64_t unreceived_messages = 0;  // sends that no receive had taken when all bodies had returned
};

using RankBody = std::function<void(Endpoint&)>;

/// What a run is told besides its body. On a world of many processes all of them give the same.
struct RunOptions {
  std::int64_t world_ranks = 1;
  std::uint64_t seed = 0;              // sim: delivery order, and which bit is corrupted
  std::span<const Fault> faults = {};  // sim: injected into this run; must outlive it
  Topology topology = {};              // only to count traffic by link class
  std::int64_t deadline_ms = 0;        // threads, mpi: from the call of run(); 0: none
};

/// The ranks of a run whose bodies this process executes: `count` of them from `first`.
struct LocalRanks {
  Rank first = 0;
  Rank count = 0;
  [[nodiscard]] bool contain(Rank rank) const { return rank >= first && rank - first < count; }
  friend bool operator==(const LocalRanks&, const LocalRanks&) = default;
};

class World {
 public:
  virtual ~World() = default;
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// What --world takes: sim, threads, mpi.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Why this world cannot do such a run (too few processes, faults it cannot inject), in one line, or nothing.
  [[nodiscard]] virtual std::optional<std::string> unsupported(const RunOptions& options) const = 0;

  /// The ranks that run() executes in this process: all of them, unless the world spans processes.
  [[nodiscard]] virtual LocalRanks local_ranks(std::int64_t world_ranks) const {
    return {0, static_cast<Rank>(world_ranks)};
  }

  /// Runs `body` once for each local rank, to its end; every process of the world must call. Bodies must return when
  /// an operation fails. `traffic` is set to what the local ranks sent: a broadcast's bytes count too, from the root
  /// to each other rank, but not as messages. The counts of the outcome are of the local ranks as well; status and
  /// text are of all. Operations that a body leaves behind are cancelled when it returns, and no buffer is touched
  /// after the run; a buffer that dies before its body returns is the body's to wait for, after a failure too.
  /// Bodies should not throw: when one does, its rank ends there, and the first such exception comes out of run().
  /// Not reentrant; options that are unsupported() are a programming error.
  virtual WorldOutcome run(const RunOptions& options, const RankBody& body, Traffic& traffic) = 0;

  /// Which of the world's processes this is.
  [[nodiscard]] virtual Rank process() const { return 0; }
  [[nodiscard]] virtual Rank processes() const { return 1; }

  /// Gives the other processes of the world a text and gets those of all, by process; every process must call. Apart
  /// from runs. deadline_ms 0: waits for ever. Empty when it failed: the world is spent.
  virtual std::vector<std::string> exchange(std::string_view text, std::int64_t deadline_ms) {
    (void)deadline_ms;
    return {std::string(text)};
  }

  /// Drops what the world keeps from run to run (stacks, threads, communicators) and makes it anew; every process of
  /// the world must call. False when that failed: the world is spent.
  virtual bool renew() = 0;

  /// True when an earlier run left the world unfit for another: its process has to be replaced.
  [[nodiscard]] virtual bool spent() const { return false; }
};

}  // namespace reshardcheck
