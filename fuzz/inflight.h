// Inflight: the case that is running, on disk, so that it is not lost with the process that runs it.
//
// Under DIR/inflight every process that searches has one file, named after it and locked as long as it lives. It holds
// the case at hand in the format of .case files and says whether that is still running. Written before the case runs
// and, where a subject may take the machine down with it, synced. A process that ends takes its file away; what a
// killed one has left, which nobody locks, is found at the next start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/layout/result.h"

namespace reshardcheck {

class Inflight {
 public:
  /// Notes nothing.
  Inflight() = default;
  /// Makes the folder and the file. `replay` are the words behind "reshardcheck run FILE" that run a case again.
  static Result<Inflight> open(const std::string& directory, const std::string& replay, bool synced);
  ~Inflight();  // takes the file away
  Inflight(Inflight&& other) noexcept;
  Inflight& operator=(Inflight&& other) noexcept;

  [[nodiscard]] bool active() const { return file_ >= 0; }

  /// A case, or a sequence of cases, begins. A disk that is full is no reason to stop: false, and the case is not on
  /// disk.
  bool begin(std::string_view text);
  void end();

 private:
  int file_ = -1;
  bool synced_ = false;
  std::string path_;
  std::string replay_;
  std::string text_;  // what the file holds, kept for its memory
};

/// A case that was running when the process that ran it was killed.
struct LeftInFlight {
  std::string file;  // under DIR/inflight, renamed so that it is told once
  std::string text;  // the case; empty when the file does not say
};

/// What processes that are gone have left under DIR/inflight; files that say that their case was over are removed.
std::vector<LeftInFlight> claim_left_in_flight(const std::string& directory);

}  // namespace reshardcheck
