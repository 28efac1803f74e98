// Executor: runs a case with a subject on a world and lets the oracles judge it.
//
//   1. estimate the memory the case needs; refuse it when that is more than allowed
//   2. open a session of the subject on every rank
//   3. for every pass (digit of the fill, poison pattern) and every refit of the case:
//        fill sources, poison targets and guard bands, call reshard() batch by batch,
//        check targets against the definition, guards, and that sources did not change
//   4. the other oracles: naive owner map, gather-broadcast on the same world, the fingerprint, the prover on the
//      subject's plan
//   5. merge what the ranks saw into one verdict
//
// On a world of many processes each has an Executor and runs its own ranks; all of them run the same cases in step,
// agree on what they are about to run, and come to the same verdict.
//
// One Executor is reused for many cases: its buffers and tables stay.
#pragma once

#include <cstdint>
#include <memory>

#include "core/layout/case.h"
#include "core/subject/subject.h"
#include "core/world/world.h"
#include "verifier/provenance.h"
#include "verifier/verdict.h"

namespace reshardcheck {

/// The independent judges of a run. Definition, guards and the source check always run.
struct Oracles {
  bool naive = true;             // per-element owner map that shares no code with the interval lists
  bool gather_broadcast = true;  // gather-broadcast on the same world, compared bitwise
  bool prover = true;            // of the subject's plan, where it gives one
  bool fingerprint = true;       // source and target digests, which know no expected value
  friend bool operator==(const Oracles&, const Oracles&) = default;
};

struct ExecutorOptions {
  Oracles oracles;
  std::int64_t max_bytes = std::int64_t{8} << 30;  // refuse cases that need more
  std::int64_t deadline_ms = 0;                    // of each call, on worlds that have a clock; 0: none
};

/// Where a case stands in a sequence of cases that one subject gets; a case by itself is both.
struct SequenceStep {
  bool first = true;
  bool last = true;
};

class Executor {
 public:
  /// Runs cases on a world of its own, a sim.
  explicit Executor(ExecutorOptions options = {});
  /// Runs cases on `world`, which must outlive it.
  explicit Executor(World& world, ExecutorOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Bytes that running the case would need (buffers of all ranks, stages, stacks); an Error when the number does
  /// not fit 64 bits. Allocates nothing.
  static Result<std::int64_t> bytes_needed(const Case& value);

  /// The verdict on a valid case, or an Error when it needs more than max_bytes (the reason has both numbers) or the
  /// world cannot hold it. Every process of the world must call.
  /// After the first step of a sequence the subject is not told that a case begins, and its sessions go on where the
  /// world, the topology and the chunk size are the same; otherwise they are opened anew. They are closed after the
  /// last step, and after one that failed, had faults injected, or did not run.
  Result<Verdict> run(const Case& value, Subject& subject, SequenceStep step = {});

  /// Replaces ExecutorOptions::deadline_ms from the next run on.
  void set_deadline_ms(std::int64_t deadline_ms);

  /// Which source ranks served which targets in the last run, when its fill was provenance; otherwise empty.
  [[nodiscard]] const ProvenanceReport& provenance() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reshardcheck
