// A verdict as people and as programs read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/output.h"
#include "core/layout/case.h"
#include "fuzz/sequence.h"
#include "verifier/verdict.h"

namespace reshardcheck::cli {

/// A case, or a sequence of cases, that has been run.
struct CaseReport {
  const Sequence* value = nullptr;
  std::string place;  // "file:line", or empty
  std::string subject;
  std::string world;
  Verdict verdict;
  std::size_t step = 0;  // the one that the verdict is on
  std::int64_t elapsed_us = 0;
  std::string where;        // flags of a command that runs it in the same place again
  std::int64_t repeat = 1;  // runs that it may take until it fails

  [[nodiscard]] const Case& judged() const { return value->steps[step]; }
};

/// {"case","verdict","detail","seed","subject","world","elapsed_us"}, and for a failure "oracle", "wrong_elements" and
/// "wrong": [{"tensor","rank","local","global","expected","got","origin":{"tensor","index"}}]. Bits are "0x..."
/// strings as wide as the element; "origin" is there when it is known. A sequence also has "step", from 1, which the
/// verdict is on, and the seed of its first step.
nlohmann::ordered_json report_json(const CaseReport& report);

/// "step 2 of 3: " and the sentence of the verdict.
std::string detail_text(const CaseReport& report);

/// The lines under a failing case: the sentence, the first wrong elements and the command that replays it. Every
/// line begins with `prefix`; the last has no newline.
std::string failure_lines(const CaseReport& report, std::string_view prefix);

/// The command that makes the case of a report minimal.
std::string shrink_command(const CaseReport& report);

/// "rank 4, gate local [0,1] = global [0,3]: expected 0x0003, got 0x0007, which is gate[0,7]".
std::string to_text(const Case& value, const WrongElement& wrong);

[[nodiscard]] Colour colour_of(VerdictKind kind);

}  // namespace reshardcheck::cli
