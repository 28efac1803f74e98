// Properties over cases, for C++ teams: hold your own function against every layout that the generator can draw.
//
//     #include "fuzz/gtest.h"
//     TEST(MyPlanner, DeliversWhatTheLayoutSays) {
//       EXPECT_TRUE(reshardcheck::holds_for_cases([](const reshardcheck::Case& value) -> std::optional<std::string> {
//         return my_planner_is_wrong(value) ? std::optional<std::string>("a row is missing") : std::nullopt;
//       }));
//     }
//
// A property says what is wrong with a case, or nothing. The first case on which something is wrong is made small by
// the shrinker of the campaigns and comes back as one line of text to paste. With RapidCheck's own macros use
// `RC_GTEST_PROP(..., (const reshardcheck::Case& value))`: rc::Arbitrary<Case> below draws the same cases, but
// RapidCheck does not shrink them.
#pragma once

#include <rapidcheck/gen/Arbitrary.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/layout/case.h"
#include "fuzz/generator.h"

namespace reshardcheck {

/// What is wrong with a case, in one line, or nothing. An exception that leaves it is a failure like any other.
using CaseProperty = std::function<std::optional<std::string>(const Case&)>;

struct PropertyOptions {
  std::uint64_t seed = 0;
  std::int64_t cases = 1'000;
  std::int64_t shrink_runs = 1'000;
  GeneratorOptions generator;  // what is drawn; narrow it to what your function takes
};

struct PropertyFailure {
  Case minimal;
  std::string reason;  // of the minimal case
  Case original;
  std::int64_t case_index = 0;  // from 0
};

/// The first drawn case without the property, made small; nothing when all have it.
std::optional<PropertyFailure> find_counterexample(const CaseProperty& property, const PropertyOptions& options = {});

/// The failure as people read it: the minimal case, what is wrong, the case it came from.
std::string to_text(const PropertyFailure& failure);

}  // namespace reshardcheck

namespace rc {

template <>
struct Arbitrary<reshardcheck::Case> {
  static Gen<reshardcheck::Case> arbitrary() { return reshardcheck::case_generator(); }
};

}  // namespace rc
