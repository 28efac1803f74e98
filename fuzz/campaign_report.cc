// What a campaign says: its first and last line, its findings, and the same as JSON events.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "core/layout/notation.h"
#include "fuzz/campaign.h"

namespace reshardcheck {
namespace {

using nlohmann::json;

std::string_view noun(const CampaignOptions& options) { return options.sequences ? "sequence" : "case"; }

std::string budget_text(const CampaignOptions& options) {
  std::string text;
  if (options.cases > 0) text = fmt::format("{} {}s", options.cases, noun(options));
  if (options.seconds > 0) text += fmt::format("{}{:g} s", text.empty() ? "" : " or ", options.seconds);
  return text;
}

/// The command that runs the campaign again.
std::string campaign_command(const CampaignOptions& options, std::int64_t cases) {
  std::string command =
      fmt::format("reshardcheck fuzz{} --subject {} --cases {} --seed {}", options.sequences ? " --sequences" : "",
                  shell_word(options.subject), cases, options.seed);
  if (!options.where.empty()) command += " " + options.where;
  // Oracles that are not the usual ones stand in `where`, with relations among them or not.
  if (options.relations && options.executor.oracles == Oracles{}) command += " --oracles all";
  if (options.fault_percent > 0) command += " --faults";
  const GeneratorOptions usual;
  const GeneratorOptions& generator = options.generator;
  if (generator.min_world_ranks != usual.min_world_ranks || generator.max_world_ranks != usual.max_world_ranks) {
    command += fmt::format(" --ranks {}..{}", generator.min_world_ranks, generator.max_world_ranks);
  }
  const auto add = [&command](const char* flag, std::int64_t value, std::int64_t usual_value) {
    if (value != usual_value) command += fmt::format(" --max-{} {}", flag, value);
  };
  add("dims", generator.max_dims, usual.max_dims);
  add("axes", generator.max_axes, usual.max_axes);
  add("tensors", generator.max_tensors, usual.max_tensors);
  add("extent", generator.max_extent, usual.max_extent);
  return command;
}

std::string command_of(const CampaignOptions& options, const CampaignResult& result) {
  if (result.end == CampaignEnd::environment) return "reshardcheck doctor";
  if (!result.findings.empty()) return replay_command(result.findings.front());
  return campaign_command(options, result.cases);
}

json verdict_counts(const std::array<std::int64_t, verdict_kinds>& verdicts) {
  json counts = json::object();
  for (int kind = 0; kind < verdict_kinds; ++kind) {
    const std::int64_t cases = verdicts[static_cast<std::size_t>(kind)];
    if (cases > 0) counts[std::string(name(static_cast<VerdictKind>(kind)))] = cases;
  }
  return counts;
}

}  // namespace

std::string_view name(CampaignEnd end) {
  switch (end) {
    case CampaignEnd::clean:
      return "clean";
    case CampaignEnd::findings:
      return "findings";
    case CampaignEnd::environment:
      return "environment";
    case CampaignEnd::only_flaky:
      return "only_flaky";
    case CampaignEnd::interrupted:
      return "interrupted";
  }
  return "unknown";
}

std::string first_line(const CampaignOptions& options) {
  return fmt::format("fuzz: seed {}, budget {}, build {}, subject {}, world {}", options.seed, budget_text(options),
                     options.build.empty() ? "unknown" : options.build, options.subject, options.world);
}

std::string last_line(const CampaignOptions& options, const CampaignResult& result) {
  if (result.end == CampaignEnd::environment) {
    return fmt::format("environment: {}; try: reshardcheck doctor", result.environment);
  }
  std::string counts = fmt::format("{} {}{}", result.cases, noun(options), result.cases == 1 ? "" : "s");
  if (result.skipped > 0) counts += fmt::format(" ({} too large to run)", result.skipped);
  const std::int64_t unsupported = result.verdicts[static_cast<std::size_t>(VerdictKind::unsupported)];
  if (unsupported > 0) counts += fmt::format(" ({} not supported by the subject)", unsupported);
  const std::string findings =
      result.findings.empty()
          ? "no finding"
          : fmt::format("{} {}", result.findings.size(), result.findings.size() == 1 ? "finding" : "findings");
  return fmt::format("{}: {}, {}, digest {:016x}; again: {}", name(result.end), counts, findings, result.digest,
                     command_of(options, result));
}

std::string failure_lines(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict) {
  return fmt::format("{} {} fails: {}\n  {}\n  {}{}", noun_of(value), index, name(verdict.verdict.kind), to_text(value),
                     step_prefix(value, verdict.step), verdict.verdict.detail);
}

std::string smaller_line(const Sequence& value, const Verdict& verdict) {
  return fmt::format("  smaller: {}  ({})", to_text(value), name(verdict.kind));
}

std::string fault_table(const CampaignResult& result) {
  const std::int64_t faulted = std::accumulate(result.faulted.begin(), result.faulted.end(), std::int64_t{0});
  if (faulted == 0) return "";
  std::string text = fmt::format("{} of the cases had faults; they ended so:", faulted);
  for (int kind = 0; kind < verdict_kinds; ++kind) {
    const std::int64_t cases = result.faulted[static_cast<std::size_t>(kind)];
    if (cases == 0) continue;
    const bool pass = static_cast<VerdictKind>(kind) == VerdictKind::pass;
    text += fmt::format("\n  {:<16}{:>10}{}", name(static_cast<VerdictKind>(kind)), cases,
                        pass ? "  (every element right, whatever the faults did)" : "");
  }
  return text;
}

std::string finding_lines(const Finding& finding) {
  std::string text = fmt::format("finding: {} in {} {}, minimal after {} runs{}\n  {}\n", name(finding.verdict.kind),
                                 noun_of(finding.original), finding.case_index, finding.shrink_runs,
                                 finding.one_minimal ? "" : " (the budget ended first: a smaller one may exist)",
                                 to_text(finding.minimal));
  if (!finding.verdict.detail.empty()) text += "  " + failing_step(finding) + finding.verdict.detail + "\n";
  if (!finding.file_problem.empty()) text += "  NOT WRITTEN: " + finding.file_problem + "\n";
  return text + "  replay: " + replay_command(finding);
}

nlohmann::json start_json(const CampaignOptions& options) {
  json line = {{"event", "start"},       {"seed", options.seed},       {"budget", budget_text(options)},
               {"build", options.build}, {"subject", options.subject}, {"world", options.world}};
  if (options.sequences) line["sequences"] = true;
  return line;
}

nlohmann::json case_json(std::int64_t index, const Sequence& value, const SequenceVerdict& verdict) {
  json line = {{"event", "case"},
               {"index", index},
               {"case", to_text(value)},
               {"verdict", name(verdict.verdict.kind)},
               {"detail", verdict.verdict.detail}};
  if (value.steps.size() > 1) line["step"] = verdict.step + 1;
  return line;
}

nlohmann::json finding_json(const Finding& finding) {
  json line = {{"event", "finding"},
               {"case", to_text(finding.minimal)},
               {"verdict", name(finding.verdict.kind)},
               {"detail", finding.verdict.detail},
               {"oracle", finding.verdict.oracle},
               {"original", to_text(finding.original)},
               {"original_verdict", name(finding.original_verdict.verdict.kind)},
               {"index", finding.case_index},
               {"seed", finding.seed},
               {"subject", finding.subject},
               {"world", finding.world},
               {"bucket", finding.bucket},
               {"shrink_runs", finding.shrink_runs},
               {"one_minimal", finding.one_minimal},
               {"command", replay_command(finding)}};
  if (finding.minimal.steps.size() > 1) line["step"] = finding.minimal.steps.size();
  if (finding.original.steps.size() > 1) line["original_step"] = finding.original_verdict.step + 1;
  if (!finding.file.empty()) line["file"] = finding.file;
  if (finding.verdict.kind == VerdictKind::flaky) {
    line["failed_runs"] = finding.failed_runs;
    line["confirm_runs"] = finding.confirm_runs;
  }
  return line;
}

nlohmann::json end_json(const CampaignOptions& options, const CampaignResult& result) {
  json duplicates = json::array();
  for (const Finding& finding : result.findings) duplicates.push_back(finding.duplicates);
  json line = {{"event", "end"},
               {"verdict", name(result.end)},
               {"cases", result.cases},
               {"skipped", result.skipped},
               {"verdicts", verdict_counts(result.verdicts)},
               {"findings", result.findings.size()},
               {"duplicates", std::move(duplicates)},
               {"pairs_seen", result.coverage.seen_pairs()},
               {"pairs", result.coverage.all_pairs()},
               {"digest", fmt::format("{:016x}", result.digest)},
               {"command", command_of(options, result)}};
  if (options.fault_percent > 0) line["faulted"] = verdict_counts(result.faulted);
  if (!result.environment.empty()) line["environment"] = result.environment;
  return line;
}

}  // namespace reshardcheck
