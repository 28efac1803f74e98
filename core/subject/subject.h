// Subject: the reshard implementation being judged, as the harness sees it in-process.
//
// A Subject is opened once per case on every rank; the Session it gives lives through all refits of the case and
// is where an implementation keeps its caches and counters. Each refit is one reshard() call per batch of tensors,
// with pointers to the local tensors of both sides and an Endpoint to communicate through. Built-in subjects
// (registry.h) implement this directly; shared libraries and processes reach it through adapters.
//
// A subject declares what it supports. It must refuse the rest with Outcome::unsupported on all ranks alike and
// leave every buffer untouched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"
#include "core/plan/plan.h"
#include "core/plan/topology.h"
#include "core/world/world.h"

namespace reshardcheck {

/// A rank's part of one tensor on one side. `data` points at the element with local index 0; strides count
/// elements. A rank outside the side's mesh has no local tensor (data == nullptr, mesh_index == npos).
struct LocalTensor {
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  std::byte* data = nullptr;
  std::size_t mesh_index = npos;
  Shape shape;                        // local, padded under the padded rules
  std::vector<std::int64_t> strides;  // elements, one per dim

  [[nodiscard]] bool present() const { return mesh_index != npos; }
};

/// One tensor of a batch, as a rank sees it. `spec` and everything it holds outlive the call.
struct BatchTensor {
  const TensorCase* spec = nullptr;
  LocalTensor source;  // read only, for a subject that behaves
  LocalTensor target;
};

/// The tensors of one reshard call. All ranks of the world call, idle ones too, with the same tensors in order.
struct Batch {
  std::span<const BatchTensor> tensors;
  std::size_t first_tensor = 0;  // index in the case of tensors[0]
};

enum class OutcomeKind : std::uint8_t { done, unsupported, error };

/// What a call of a subject came to on one rank.
struct Outcome {
  OutcomeKind kind = OutcomeKind::done;
  CommStatus comm = CommStatus::ok;  // why, when communication failed
  std::string reason;                // one line; empty when done

  static Outcome done() { return {}; }
  static Outcome unsupported(std::string reason) {
    return {OutcomeKind::unsupported, CommStatus::ok, std::move(reason)};
  }
  static Outcome error(std::string reason, CommStatus comm = CommStatus::ok) {
    return {OutcomeKind::error, comm, std::move(reason)};
  }
  [[nodiscard]] bool is_done() const { return kind == OutcomeKind::done; }
};

/// What the subject is told about the run besides the tensors.
struct SessionOptions {
  Topology topology;
  std::int64_t chunk_bytes = 0;  // stage messages in pieces of at most this (0: whole)
  friend bool operator==(const SessionOptions&, const SessionOptions&) = default;
};

/// How long a subject that is made of processes waits for them: less than who waits for the subject, so that it can say
/// which process kept it waiting.
struct Patience {
  std::int64_t start_ms = 55'000;  // for a process to come up: imports take their time
  std::int64_t answer_ms = 8'000;  // for each of its answers
};

/// A subject's state on one rank, from open to close.
class Session {
 public:
  virtual ~Session() = default;
  virtual Outcome reshard(Endpoint& endpoint, const Batch& batch) = 0;
  /// Once, after the last call. It cannot communicate. What ends without it (a case that failed) is not told.
  virtual Outcome close() { return Outcome::done(); }
};

class Subject {
 public:
  virtual ~Subject() = default;

  /// The name that --subject takes, such as "reference:direct" or "mutant:flat-chunk".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Called once per rank before the first reshard. Ranks of one process may share state through the Subject,
  /// but only state that a real implementation could share.
  virtual std::unique_ptr<Session> open(Endpoint& endpoint, const SessionOptions& options) = 0;

  /// Called once per process before a case opens its sessions: state from earlier cases must go. Not called between
  /// the cases of a sequence, which may differ in ranks and topology as the sessions that they open say.
  virtual void begin_case() {}

  /// True for a subject that is made of processes, which prepare() starts before a case, so that the time they take to
  /// come up is not the case's. What prepare() cannot start, open() reports.
  [[nodiscard]] virtual bool starts_processes() const { return false; }
  virtual void prepare(const Case& value, LocalRanks ranks, const Patience& patience) {
    (void)value;
    (void)ranks;
    (void)patience;
  }

  /// True when the subject promises that each piece crosses into a domain once; excess_traffic is then a finding.
  [[nodiscard]] virtual bool promises_minimal_traffic() const { return false; }

  /// The plan it would execute for a tensor, when it can say: the prover judges it. Otherwise nothing.
  [[nodiscard]] virtual std::optional<Plan> plan(const TensorCase& tensor, const SessionOptions& options) {
    (void)tensor;
    (void)options;
    return std::nullopt;
  }

  /// What the subject does not support, as one line, or nothing when it takes the case.
  [[nodiscard]] virtual std::optional<std::string> unsupported(const Case& value) const {
    (void)value;
    return std::nullopt;
  }
};

}  // namespace reshardcheck
