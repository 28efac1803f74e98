// What a case needs is the executor's to say; this file finds the first that needs too much.
#include "cli/case_sizes.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "verifier/executor.h"

namespace reshardcheck::cli {

std::optional<Refusal> refuse_sizes(std::span<const InputSequence> input, std::int64_t max_bytes) {
  for (const InputSequence& each : input) {
    for (std::size_t step = 0; step < each.value.steps.size(); ++step) {
      const std::string where = place_prefix(each) + step_prefix(each.value, step);
      const Result<std::int64_t> needed = Executor::bytes_needed(each.value.steps[step]);
      if (!needed) return Refusal{where + needed.error().reason, ""};  // no limit is large enough
      if (*needed > max_bytes) {
        return Refusal{fmt::format("{}the case needs {} bytes ({}), more than the {} allowed ({})", where, *needed,
                                   human_bytes(*needed), max_bytes, human_bytes(max_bytes)),
                       "--max-bytes SIZE allows more, such as 16G"};
      }
    }
  }
  return std::nullopt;
}

}  // namespace reshardcheck::cli
