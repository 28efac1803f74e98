// The text, the run and the search of sequences; how they are drawn and shrunk is in files of their own.
#include "fuzz/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/layout/notation.h"
#include "fuzz/corpus.h"
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

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

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
    if (end == text.size()) return sequence;
    begin = end + separator.size();
  }
}

std::string to_text(const Sequence& sequence) {
  std::string text;
  for (const Case& step : sequence.steps) text += (text.empty() ? "" : " >> ") + to_text(step);
  return text;
}

Result<SequenceVerdict> run_sequence(Runner& runner, const Sequence& sequence) {
  SequenceVerdict result;
  for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
    const Case value = seeded(sequence.steps[i], i);
    Result<Verdict> verdict = runner.run(value, {i == 0, i + 1 == sequence.steps.size()});
    if (!verdict) return verdict.error();
    if (!value.options.faults.empty()) continue;
    result = {*std::move(verdict), i};
    if (result.verdict.failed()) break;
  }
  return result;
}

SequenceSearchResult search_sequences(const SequenceSearchOptions& options, Runner& runner) {
  const RunSequence run = [&](const Sequence& sequence) -> std::optional<SequenceVerdict> {
    Result<SequenceVerdict> verdict = run_sequence(runner, sequence);
    if (!verdict) return std::nullopt;
    return *std::move(verdict);
  };
  SequenceSearchResult result;
  rc::Random random(options.seed);
  while (result.sequences < options.sequences && !(options.cancelled && options.cancelled())) {
    RandomChoices choices(random.split());
    Sequence sequence = draw_sequence(choices, options.generator);
    const std::optional<SequenceVerdict> verdict = run(sequence);
    ++result.sequences;
    if (!verdict || !verdict->verdict.failed()) continue;
    ShrinkOptions shrinking;
    shrinking.max_runs = options.shrink_runs;
    shrinking.out_of_time = options.cancelled;
    SequenceShrinkResult shrunk = shrink_sequence(sequence, *verdict, run, shrinking);
    result.finding = SequenceFinding{std::move(sequence), *verdict, std::move(shrunk)};
    break;
  }
  return result;
}

std::string finding_text(const SequenceFinding& finding, std::string_view subject, std::uint64_t seed) {
  const SequenceShrinkResult& shrunk = finding.shrunk;
  std::string text = fmt::format("# verdict: {} in step {} of {}\n", name(shrunk.verdict.kind),
                                 shrunk.minimal.steps.size(), shrunk.minimal.steps.size());
  text += fmt::format("# detail: {}\n", one_line(shrunk.verdict.detail));
  text += fmt::format("# subject: {}\n# seed: {}\n", subject, seed);
  text += fmt::format("# original: {}\n", to_text(finding.original));
  text += fmt::format("# original verdict: {} in step {} of {}\n", name(finding.original_verdict.verdict.kind),
                      finding.original_verdict.step + 1, finding.original.steps.size());
  text += fmt::format("# shrunk: {} runs, {}\n", shrunk.runs,
                      shrunk.one_minimal ? "no single step fails any more" : "the budget ended first");
  return text + to_text(shrunk.minimal) + "\n";
}

}  // namespace reshardcheck
