#include "fuzz/property.h"

#include <fmt/format.h>

#include <exception>

#include "core/layout/notation.h"
#include "fuzz/shrinker.h"

namespace reshardcheck {
namespace {

std::optional<std::string> reason_against(const CaseProperty& property, const Case& value) {
  try {
    return property(value);
  } catch (const std::exception& error) {
    return std::string("an exception: ") + error.what();
  }
}

/// A property's answer as a verdict: all that is wrong is one bucket, for the shrinker knows no more of it.
Verdict verdict_of(const std::optional<std::string>& reason) {
  Verdict verdict;
  if (!reason) return verdict;
  verdict.kind = VerdictKind::error;
  verdict.detail = *reason;
  return verdict;
}

}  // namespace

std::optional<PropertyFailure> find_counterexample(const CaseProperty& property, const PropertyOptions& options) {
  rc::Random random(options.seed);
  for (std::int64_t index = 0; index < options.cases; ++index) {
    RandomChoices choices(random.split());
    const Case value = generate_case(choices, options.generator);
    const Verdict verdict = verdict_of(reason_against(property, value));
    if (!verdict.failed()) continue;
    ShrinkOptions shrinking;
    shrinking.max_runs = options.shrink_runs;
    const RunCase run = [&property](const Case& smaller) { return verdict_of(reason_against(property, smaller)); };
    ShrinkResult shrunk = shrink(value, verdict, run, shrinking);
    return PropertyFailure{std::move(shrunk.minimal), std::move(shrunk.verdict.detail), value, index};
  }
  return std::nullopt;
}

std::string to_text(const PropertyFailure& failure) {
  return fmt::format("{}\n  {}\n  first seen in case {}: {}", to_text(failure.minimal), failure.reason,
                     failure.case_index, to_text(failure.original));
}

}  // namespace reshardcheck
