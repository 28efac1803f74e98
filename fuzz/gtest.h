// The GoogleTest face of properties over cases (property.h). Header only, so that the library needs no GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "fuzz/property.h"

namespace reshardcheck {

/// Success when every drawn case has the property; otherwise a failure that prints the smallest case that has not.
inline testing::AssertionResult holds_for_cases(const CaseProperty& property, const PropertyOptions& options = {}) {
  const std::optional<PropertyFailure> failure = find_counterexample(property, options);
  if (!failure) return testing::AssertionSuccess() << "every one of " << options.cases << " cases has the property";
  return testing::AssertionFailure() << "\n" << to_text(*failure);
}

}  // namespace reshardcheck
