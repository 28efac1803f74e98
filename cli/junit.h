// JUnit XML, which every CI system shows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/verdict.h"

namespace reshardcheck::cli {

struct JunitCase {
  std::string name;        // case text
  std::string class_name;  // subject
  VerdictKind verdict = VerdictKind::pass;
  std::string detail;
  std::int64_t elapsed_us = 0;
};

/// A test suite with one test case an entry: failures carry verdict and detail, unsupported cases are skipped.
std::string junit_xml(std::string_view suite, std::span<const JunitCase> cases);

/// The text with the characters escaped that XML gives a meaning, and those replaced that it does not allow.
std::string xml_escaped(std::string_view text);

}  // namespace reshardcheck::cli
