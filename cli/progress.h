// Progress of long work on the error stream: a bar on a terminal, now and then a line elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output.h"

namespace reshardcheck::cli {

/// Seconds of a monotonic clock.
double clock_seconds();

class ProgressDisplay {
 public:
  explicit ProgressDisplay(Output& stream) : stream_(stream), begin_(clock_seconds()), shown_(begin_) {}

  /// Shows how far the work is, unless it was shown a moment ago. `fraction` of the work is done, in `cases` cases;
  /// `note` follows the rate.
  void show(double fraction, std::int64_t cases, const std::string& note);

  /// Takes the bar away, so that a line can be printed where it was.
  void clear();

 private:
  Output& stream_;
  double begin_;
  double shown_;
  bool drawn_ = false;
};

}  // namespace reshardcheck::cli
