#include "fuzz/enumerator.h"

namespace reshardcheck {

std::int64_t count_cases(const GeneratorOptions& bound, const std::function<bool()>& cancelled) {
  constexpr std::int64_t cases_between_questions = 1 << 12;
  CountingChoices choices;
  std::int64_t count = 0;
  do {
    (void)draw_case(choices, bound);
    ++count;
    if (cancelled && count % cases_between_questions == 0 && cancelled()) break;
  } while (choices.next());
  return count;
}

std::int64_t enumerate_cases(const GeneratorOptions& bound, const EnumerationShard& shard,
                             const std::function<bool(std::int64_t, const Case&)>& visit) {
  RESHARDCHECK_CHECK(shard.count >= 1 && shard.index >= 0 && shard.index < shard.count);
  CountingChoices choices;
  std::int64_t visited = 0;
  std::int64_t index = 0;
  do {
    const CaseDraft draft = draw_case(choices, bound);
    if (index % shard.count == shard.index) {
      const Result<Case> value = build(draft);
      RESHARDCHECK_CHECK(value.ok());
      ++visited;
      if (!visit(index, *value)) break;
    }
    ++index;
  } while (choices.next());
  return visited;
}

}  // namespace reshardcheck
