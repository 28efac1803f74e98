// RankReport: what one rank saw of a run, before anyone judges it.
//
// Facts only (values, offsets, outcomes), as plain data: ranks of one process hand them over as they are, ranks of
// many processes send them, tests write them by hand. judge.h makes the verdict.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/subject/subject.h"
#include "verifier/fill.h"
#include "verifier/local_buffers.h"

namespace reshardcheck {

inline constexpr int max_passes = 16;  // eight digits of one byte and two special passes are the most a fill makes

/// A target element that did not hold what it should.
struct WrongPlace {
  std::size_t tensor = 0;
  std::int64_t local_offset = 0;  // elements from local index 0 in memory
  Shape local_index;
  std::int64_t global_index = 0;  // row-major
  Call call;                      // in which it was wrong first
  std::uint64_t expected = 0;     // in that call
  /// What it held in this refit of every pass; the first `passes_seen` are known. An oracle that looks at one call
  /// only knows got[call.pass] and has passes_seen = 0.
  std::array<std::uint64_t, max_passes> got{};
  int passes_seen = 0;
};

/// The wrong elements that one oracle found on one rank.
struct DataReport {
  std::vector<WrongPlace> places;   // the first few
  std::int64_t wrong_elements = 0;  // all, each counted once
};

/// Adds a wrong element that an oracle of one call has found: counted always, kept among the first few.
inline constexpr std::size_t kept_places = 64;  // enough for a verdict's first few after ranks are merged
inline void note_wrong(DataReport& report, WrongPlace place) {
  report.wrong_elements += 1;
  if (report.places.size() < kept_places) report.places.push_back(std::move(place));
}

/// A byte outside the elements of a local tensor that changed.
struct StrayWrite {
  std::size_t tensor = 0;
  Side side = Side::target;
  std::int64_t offset_bytes = 0;     // from local index 0; negative before it
  std::int64_t footprint_bytes = 0;  // of the local tensor: at or past it lies the rear guard band
  Call call;
};

/// A source element (or padding) that the subject changed.
struct SourceChange {
  std::size_t tensor = 0;
  Shape local_index;
  Call call;
  std::uint64_t expected = 0;
  std::uint64_t got = 0;
};

/// How many elements of a local tensor came from one source rank (fill=provenance).
struct Served {
  std::size_t tensor = 0;
  Rank source = 0;
  Rank target = 0;
  std::int64_t elements = 0;
  friend bool operator==(const Served&, const Served&) = default;
};

/// The session did not end as it should.
struct CloseFailure {
  bool threw = false;
  std::string reason;
};

struct RankReport {
  Rank rank = 0;
  bool idle = false;      // in no mesh of the case
  Outcome outcome;        // of the last call
  Call call;              // the last call
  bool threw = false;     // an exception left the subject
  std::string exception;  // what it said
  bool touched = false;   // said unsupported, yet changed a target
  DataReport definition;
  DataReport naive;
  std::string naive_disagreement;  // the naive map and core/layout differ about this rank: a bug of the checker
  DataReport gather_broadcast;
  std::string gather_broadcast_failure;  // the oracle's own communication failed
  std::optional<StrayWrite> stray;
  std::optional<SourceChange> source_change;
  std::vector<Served> served;
  std::optional<CloseFailure> close_failure;
};

}  // namespace reshardcheck
