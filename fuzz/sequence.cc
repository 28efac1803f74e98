// The text and the run of sequences; how they are drawn and shrunk is in files of their own.
#include "fuzz/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/layout/notation.h"
#include "verifier/mix.h"

namespace reshardcheck {
namespace {

constexpr std::string_view separator = ">>";

/// The step with the seed that it runs with.
Case seeded(const Case& step, std::size_t place) {
  Case value = step;
  if (place > 0) value.options.seed = mix(value.options.seed + golden_ratio * static_cast<std::uint64_t>(place));
  return value;
}

bool has_faults(const Case& step) { return !step.options.faults.empty(); }

}  // namespace

Result<Sequence> parse_sequence(std::string_view text) {
  Sequence sequence;
  for (std::size_t begin = 0;;) {
    if (sequence.steps.size() == max_sequence_steps) {
      return Error{fmt::format("a sequence has at most {} steps", max_sequence_steps), begin};
    }
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::string_view step = text.substr(begin, end - begin);
    const std::size_t spaces = std::min(step.find_first_not_of(' '), step.size());
    step.remove_prefix(spaces);
    while (step.ends_with(' ')) step.remove_suffix(1);
    Result<Case> value = parse_case(step);
    if (!value) {
      Error error = value.error();
      if (error.position != Error::no_position) error.position += begin + spaces;
      return error;
    }
    sequence.steps.push_back(*std::move(value));
    if (end == text.size()) break;
    begin = end + separator.size();
  }
  if (sequence.steps.size() > 1 && std::all_of(sequence.steps.begin(), sequence.steps.end(), has_faults)) {
    return Error{"every step of the sequence has faults=, and such steps are not judged: add one without"};
  }
  return sequence;
}

std::string to_text(const Sequence& sequence) {
  std::string text;
  for (const Case& step : sequence.steps) text += (text.empty() ? "" : " >> ") + to_text(step);
  return text;
}

std::string step_prefix(const Sequence& sequence, std::size_t step) {
  return sequence.steps.size() == 1 ? "" : fmt::format("step {} of {}: ", step + 1, sequence.steps.size());
}

std::string_view noun_of(const Sequence& sequence) { return sequence.steps.size() == 1 ? "case" : "sequence"; }

Result<SequenceVerdict> run_sequence(Runner& runner, const Sequence& sequence) {
  SequenceVerdict result;
  for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
    const Case value = seeded(sequence.steps[i], i);
    Result<Verdict> verdict = runner.run(value, {i == 0, i + 1 == sequence.steps.size()});
    if (!verdict) return verdict.error();
    const bool accident = has_faults(value) && sequence.steps.size() > 1;
    if (accident) continue;
    result = {*std::move(verdict), i};
    if (result.verdict.failed()) break;
  }
  return result;
}

}  // namespace reshardcheck
