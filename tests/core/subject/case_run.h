// Runs a case on the simulated world and looks at every byte, with nothing but the definition of a reshard: the
// smallest harness that can tell a right subject from a wrong one. (The verifier, which does this for a living, is
// above this room.)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/layout/case.h"
#include "core/subject/subject.h"

namespace reshardcheck {

/// The bits of an element: of its tensor, row-major global index and call.
using ElementValue = std::function<std::uint64_t(std::size_t tensor, std::int64_t index, std::int64_t call)>;
std::uint64_t distinct_value(std::size_t tensor, std::int64_t index, std::int64_t call);

struct CaseRun {
  std::int64_t calls = 2;
  std::uint64_t seed = 0;
  ElementValue value = distinct_value;

  /// One word for what the calls showed, the first of: "crash", "hang", "refused", "disagree", "error", "guard",
  /// "source_modified", "wrong", "excess_traffic" (where the subject promises to avoid it), "pass".
  std::string run(const Case& value, Subject& subject) const;
};

/// The case of a line that must be valid.
Case case_of(std::string_view text);

/// A built-in subject that must exist.
std::unique_ptr<Subject> subject_of(std::string_view name);

}  // namespace reshardcheck
