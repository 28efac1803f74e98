// Values are read here rather than by CLI11, which takes 010 for octal and lets numbers that are too large pass.
#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "cli/memory.h"
#include "core/layout/limits.h"
#include "core/layout/printable.h"

namespace reshardcheck::cli {
namespace {

constexpr std::size_t max_shown_bytes = 60;  // of a word that is refused
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// The power of 1024 a unit stands for, or -1: "", "B", "K", "KB", "KiB", ...
int unit_power(std::string_view unit) {
  constexpr std::string_view letters = "kmgtp";
  if (unit.empty() || unit == "B" || unit == "b") return 0;
  const std::size_t letter = letters.find(static_cast<char>(unit[0] | 0x20));
  const std::string_view rest = unit.substr(1);
  const bool known = letter != std::string_view::npos && (rest.empty() || rest == "B" || rest == "b" || rest == "iB");
  return known ? static_cast<int>(letter) + 1 : -1;
}

}  // namespace

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t at = text.find(separator);
    words.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return words;
    text.remove_prefix(at + 1);
  }
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::uint64_t> number = parse_unsigned(text.substr(0, digits));
  const int power = unit_power(text.substr(digits));
  if (!number || power < 0) return Error{fmt::format("'{}' is no number of bytes, such as 4096, 512M or 4G", text)};
  const int shift = 10 * power;
  if (*number > static_cast<std::uint64_t>(largest) >> shift) return Error{fmt::format("'{}' is too large", text)};
  return static_cast<std::int64_t>(*number << shift);
}

Result<Oracles> parse_oracles(std::string_view text) {
  if (text == "all" || text == "data") return Oracles{};
  Oracles oracles{false, false, false, false};
  if (text == "none") return oracles;
  for (const std::string& word : split_words(text, ',')) {
    if (word == "naive") {
      oracles.naive = true;
    } else if (word == "gather_broadcast") {
      oracles.gather_broadcast = true;
    } else if (word == "prover") {
      oracles.prover = true;
    } else if (word == "fingerprint") {
      oracles.fingerprint = true;
    } else if (word != "relations") {
      return Error{fmt::format(
          "no oracle '{}'; known: all data none naive gather_broadcast prover fingerprint relations", word)};
    }
  }
  return oracles;
}

bool has_relations(std::string_view text) {
  const std::vector<std::string> words = split_words(text, ',');
  return text == "all" || std::find(words.begin(), words.end(), "relations") != words.end();
}

Result<RankRange> parse_rank_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::optional<std::uint64_t> lowest = parse_unsigned(text.substr(0, dots));
  const std::optional<std::uint64_t> highest =
      dots == std::string_view::npos ? lowest : parse_unsigned(text.substr(dots + 2));
  if (!lowest || !highest) return Error{fmt::format("'{}' is no range of ranks, such as 2..16", text)};
  if (*lowest < 2 || *highest < *lowest || *highest > static_cast<std::uint64_t>(limits::max_ranks)) {
    return Error{fmt::format("a range of ranks A..B needs 2 <= A <= B <= {}, not {}", limits::max_ranks, text)};
  }
  return RankRange{static_cast<std::int64_t>(*lowest), static_cast<std::int64_t>(*highest)};
}

CLI::Validator seconds_between(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        double value = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = problem == std::errc{} && end == text.data() + text.size();
        if (whole && value >= low && value <= high) return std::string();
        return fmt::format("'{}' is no number of seconds, {} to {}", printable(text, max_shown_bytes), low, high);
      },
      "");
}

CLI::Option* add_number(CLI::App& command, const NumberOption& option, std::int64_t& value) {
  const auto read = [option, &value](const std::string& text) {
    const std::optional<std::uint64_t> number = parse_unsigned(text);
    const bool fits = number && *number <= static_cast<std::uint64_t>(option.highest) &&
                      static_cast<std::int64_t>(*number) >= option.lowest;
    if (!fits) {
      const std::string range = option.highest == largest ? fmt::format("{} or more", option.lowest)
                                                          : fmt::format("{} to {}", option.lowest, option.highest);
      throw CLI::ValidationError(option.flag, fmt::format("'{}' is no whole number, {}", text, range));
    }
    value = static_cast<std::int64_t>(*number);
  };
  return command.add_option_function<std::string>(option.flag, read, option.description)->type_name("N");
}

void add_run_options(CLI::App& command, RunOptions& options) {
  command.add_option("--subject", options.subject, "What is judged; 'reshardcheck subjects' lists them")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--world", options.world, "Where ranks run: sim (fibers of one thread), threads, or mpi")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--launch", options.launch, "Words before the worker's command, such as 'mpirun -np 8'")
      ->type_name("COMMAND");
  command.add_flag("--isolate", options.isolate, "Run cases in a worker process, as for lib: and proc: subjects");
  command
      .add_option("--case-timeout", options.case_seconds,
                  "Seconds a case in a worker may take, plus 5 x the median of those before (default 10)")
      ->check(seconds_between(0.001, 1'000'000))
      ->type_name("N");
  command.add_option("--start-timeout", options.start_seconds, "Seconds that workers may take to come up (default 60)")
      ->check(seconds_between(0.001, 1'000'000))
      ->type_name("N");
  command.add_option("--subject-output", options.subject_output, "Append what workers print to this file")
      ->type_name("FILE");
  command.add_option("--max-bytes", options.max_bytes, "Refuse a case that needs more (default: half of free memory)")
      ->type_name("SIZE");
  command
      .add_option(
          "--oracles", options.oracles,
          "data (what judges one run), all, none, or some of naive,gather_broadcast,prover,fingerprint,relations")
      ->type_name("LIST")
      ->capture_default_str();
}

Result<ExecutorOptions> executor_options(const RunOptions& options) {
  const Result<Oracles> oracles = parse_oracles(options.oracles);
  if (!oracles) return Error{"--oracles: " + oracles.error().reason};
  ExecutorOptions result;
  result.oracles = *oracles;
  result.max_bytes = available_memory_bytes() / 2;
  if (!options.max_bytes.empty()) {
    const Result<std::int64_t> max_bytes = parse_bytes(options.max_bytes);
    if (!max_bytes) return Error{"--max-bytes: " + max_bytes.error().reason};
    result.max_bytes = *max_bytes;
  }
  return result;
}

}  // namespace reshardcheck::cli
