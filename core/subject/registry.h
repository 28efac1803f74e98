// The built-in subjects by name, and the catalogue of mutants.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/result.h"
#include "core/subject/subject.h"

namespace reshardcheck {

/// A line of `reshardcheck subjects`.
struct SubjectInfo {
  std::string name;      // "mutant:flat-chunk"
  std::string what;      // what it is, or what is wrong with it
  std::string expected;  // the verdicts that should name a mutant, comma separated; "pass" for a reference
  std::string origin;    // for a mutant: the public report of the bug class it re-creates
};

/// Every built-in subject, references first, mutants in catalogue order.
std::vector<SubjectInfo> subject_catalogue();

/// "reference", "reference:direct", "reference:replica_aware", "reference:gather_broadcast", "mutant:NAME".
/// A mutant may have options: "mutant:chunk-tail?chunk=8&other=1". "lib:PATH.so?options" loads a library that speaks
/// the C ABI (library.h) into this process; "proc:COMMAND" starts a program that speaks JSON lines (process_subject.h).
/// An unknown name is an Error that proposes the closest known one.
Result<std::unique_ptr<Subject>> make_subject(std::string_view name, const Patience& patience = {});

}  // namespace reshardcheck
