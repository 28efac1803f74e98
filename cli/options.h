// Options that several subcommands share, and the words they are typed in.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/result.h"
#include "verifier/executor.h"

namespace reshardcheck::cli {

/// The subject that is judged, the world it runs on, and how much memory a case may take.
struct RunOptions {
  std::string subject = "reference";
  std::string world = "sim";
  std::string max_bytes;         // as typed; empty: half of the free memory
  std::string oracles = "data";  // as typed
  std::string launch;            // as typed: the words before a worker's command
  bool isolate = false;          // run in a worker, whatever the subject
  double case_seconds = 10;      // the base of the bound on a case in a worker
  double start_seconds = 60;     // for workers to come up
  std::string subject_output;    // a file for what workers print
};

/// Declares --subject, --world, --max-bytes, --oracles and the flags about workers.
void add_run_options(CLI::App& command, RunOptions& options);

/// The executor's options as they were typed. Errors name the flag at fault.
Result<ExecutorOptions> executor_options(const RunOptions& options);

/// Declares an option that takes a whole number from `lowest` to `highest`, decimal digits only.
struct NumberOption {
  std::string flag;
  std::string description;
  std::int64_t lowest = 0;
  std::int64_t highest = INT64_MAX;
};
/// A check of an option that takes seconds, `low` to `high`. Of what is no number too: "nan" lies in every range of
/// CLI11.
CLI::Validator seconds_between(double low, double high);
CLI::Option* add_number(CLI::App& command, const NumberOption& option, std::int64_t& value);

/// "4096", "64K", "4G", "1T", also with "B" or "iB" after the letter; letters are powers of 1024.
Result<std::int64_t> parse_bytes(std::string_view text);

/// "all", "data" (all that judge one run), "none", or names of the optional oracles with commas between: naive,
/// gather_broadcast, prover, relations. Relations compare runs, so they are the search's and not among Oracles.
Result<Oracles> parse_oracles(std::string_view text);
/// True when a list that parses has relations.
bool has_relations(std::string_view text);

/// "2..8", or "8" for 8..8.
struct RankRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};
Result<RankRange> parse_rank_range(std::string_view text);

/// A whole number of decimal digits that fits, or nothing.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);

/// The words between separators; empty ones are kept.
std::vector<std::string> split_words(std::string_view text, char separator);

}  // namespace reshardcheck::cli
