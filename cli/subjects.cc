// reshardcheck subjects: what --subject takes.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "core/layout/json.h"
#include "core/subject/registry.h"

namespace reshardcheck::cli {
namespace {

ExitCode subjects(Console& console, bool json) {
  std::vector<std::vector<std::string>> rows;
  for (const SubjectInfo& info : subject_catalogue()) {
    if (json) {
      const nlohmann::ordered_json line{
          {"name", info.name}, {"what", info.what}, {"expected", info.expected}, {"origin", info.origin}};
      console.out.line(json_line(line));
    }
    rows.push_back({info.name, info.what, info.expected, info.origin});
  }
  if (!json) console.out.print(Table::whole({{"name"}, {"what"}, {"expected"}, {"origin"}}, rows));
  return ExitCode::clean;
}

}  // namespace

Action add_subjects(CLI::App& app) {
  CLI::App* command = app.add_subcommand("subjects", "List what can be judged");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object a subject");
  command->footer(
      "A reference is meant to pass every case. A mutant is the reference with one seeded bug, re-created from a\n"
      "public report: it shows whether the search finds that class of bug.\n"
      "Your own: lib:PATH.so[?options], a shared library with the C ABI of core/subject/abi.h, or proc:COMMAND, a\n"
      "program in any language. Both run in worker processes.\n"
      "Example:\n"
      "  reshardcheck fuzz --subject mutant:axis-order");
  return [json](Console& console) { return subjects(console, *json); };
}

}  // namespace reshardcheck::cli
