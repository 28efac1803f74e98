// The texts are those of Open MPI 4, in help-orterun.txt (aborted, unclean exit, the table of a code that is not zero)
// and help-errmgr-base.txt (a daemon that is out of reach).
#include "verifier/worker/launcher_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace reshardcheck {
namespace {

/// What stands between two words, behind the first place of `before`; nothing when either is missing.
std::optional<std::string_view> between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(0, end);
}

bool is_number(std::string_view text) {
  constexpr std::size_t most_digits = 9;
  return !text.empty() && text.size() <= most_digits && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "[[64085,1],2]" is rank 2 of the job.
std::optional<std::string> exit_code(std::string_view output) {
  const std::optional<std::string_view> name = between(output, "Process name: [[", "\n");
  const std::optional<std::string_view> code = between(output, "Exit code:", "\n");
  if (!name || !code) return std::nullopt;
  const std::optional<std::string_view> rank = between(*name, "],", "]");
  const std::string_view number = code->substr(std::min(code->find_first_not_of(' '), code->size()));
  if (!rank || !is_number(*rank) || !is_number(number)) return std::nullopt;
  return fmt::format("rank {} exited with code {} under mpirun", *rank, number);
}

std::optional<std::string> lost_host(std::string_view output) {
  constexpr std::string_view lost = "ORTE has lost communication with a remote daemon";
  if (output.find(lost) == std::string_view::npos) return std::nullopt;
  const std::optional<std::string_view> daemon = between(output, "Remote daemon", "\n");
  const std::size_t host = daemon ? daemon->rfind(' ') : std::string_view::npos;
  if (host == std::string_view::npos) return std::nullopt;
  return fmt::format("mpirun lost the connection to host {}", daemon->substr(host + 1));
}

}  // namespace

std::optional<std::string> fate_of_ranks(std::string_view output) {
  const std::optional<std::string_view> rank = between(output, "process rank ", " with PID ");
  if (!rank || !is_number(*rank)) {
    const std::optional<std::string> exited = exit_code(output);
    return exited ? exited : lost_host(output);
  }
  output.remove_prefix(output.find("process rank "));
  const std::optional<std::string_view> signal = between(output, " exited on signal ", ").");
  if (signal && signal->find('\n') == std::string_view::npos) {
    return fmt::format("rank {} was killed by signal {}) under mpirun", *rank, *signal);
  }
  if (output.find("exiting improperly") == std::string_view::npos) return std::nullopt;
  return fmt::format("rank {} exited by itself under mpirun", *rank);
}

}  // namespace reshardcheck
