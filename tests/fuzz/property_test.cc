// Goal: a property over cases finds, shrinks and prints what breaks it. Method: properties that are known to fail on
// one smallest case, that throw, and that hold.
#include "fuzz/property.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "core/layout/notation.h"

namespace reshardcheck {
namespace {

TEST(Property, EndsInTheSmallestCaseThatBreaksIt) {
  const auto failure = find_counterexample([](const Case& value) -> std::optional<std::string> {
    if (value.world_ranks() < 5) return std::nullopt;
    return "too many ranks";
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->minimal.world_ranks(), 5);
  EXPECT_EQ(failure->minimal.tensors.size(), 1U);
  EXPECT_NE(to_text(*failure).find("too many ranks"), std::string::npos);
  EXPECT_NE(to_text(*failure).find(to_text(failure->minimal)), std::string::npos);
}

TEST(Property, TakesAnExceptionForAFailure) {
  const auto failure =
      find_counterexample([](const Case&) -> std::optional<std::string> { throw std::runtime_error("no"); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, "an exception: no");
  EXPECT_EQ(to_text(failure->minimal), "u8[] 1@0 R -> 1@1 R");
}

TEST(Property, FindsNothingWhereItHolds) {
  EXPECT_FALSE(find_counterexample([](const Case&) { return std::optional<std::string>(); }));
}

RC_GTEST_PROP(ArbitraryCase, IsAlwaysValidAndParsesBack, (const Case& value)) {
  RC_ASSERT(validate(value).ok());
  const Result<Case> back = parse_case(to_text(value));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == value);
}

}  // namespace
}  // namespace reshardcheck
