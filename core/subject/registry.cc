// Registry: names to subjects, and a proposal for a name that is none.
#include "core/subject/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/layout/printable.h"
#include "core/subject/library.h"
#include "core/subject/mutant.h"
#include "core/subject/process_subject.h"
#include "core/subject/reference.h"

namespace reshardcheck {
namespace {

constexpr std::string_view mutant_prefix = "mutant:";

struct ReferenceRow {
  std::string_view name;
  PlannerKind planner;
  std::string_view what;
};

constexpr ReferenceRow references[] = {
    {"reference", PlannerKind::replica_aware, "the reference engine; each piece enters a domain once"},
    {"reference:direct", PlannerKind::direct, "each target gets each piece straight from one source replica"},
    {"reference:replica_aware", PlannerKind::replica_aware, "the reference by its full name"},
    {"reference:gather_broadcast", PlannerKind::gather_broadcast, "gather on one rank, broadcast, keep a part"},
};

/// Levenshtein's distance: insertions, deletions and replacements that turn one text into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

Error unknown_subject(std::string_view name) {
  constexpr std::size_t max_name = 128;  // what is longer is no slip of the hand
  std::string closest;
  std::size_t least = max_name;
  for (const SubjectInfo& info : subject_catalogue()) {
    if (name.size() > max_name) break;
    const std::string_view full = info.name;
    const bool is_mutant = full.starts_with(mutant_prefix);
    // People forget the prefix; then the bare names are compared.
    const std::size_t distance = std::min(
        edit_distance(name, full), is_mutant ? edit_distance(name, full.substr(mutant_prefix.size())) : max_name);
    if (distance < least) {
      least = distance;
      closest = full;
    }
  }
  const std::string shown = printable(name, max_name);
  // What takes as many strokes to mend as it has letters was not meant.
  if (closest.empty() || least > name.size() / 2) {
    return Error{
        fmt::format("no subject is named '{}'; it is one of 'reshardcheck subjects', lib:FILE or proc:COMMAND", shown)};
  }
  return Error{fmt::format("no subject is named '{}'; did you mean '{}'?", shown, closest)};
}

}  // namespace

std::vector<SubjectInfo> subject_catalogue() {
  std::vector<SubjectInfo> catalogue;
  for (const ReferenceRow& row : references)
    catalogue.push_back({std::string(row.name), std::string(row.what), "pass", ""});
  for (const Mutant& mutant : all_mutants()) {
    std::string what(mutant.what);
    for (const MutantOption& option : mutant.options) what += fmt::format(" (option {}={})", option.name, option.value);
    catalogue.push_back({fmt::format("{}{}", mutant_prefix, mutant.name), std::move(what), std::string(mutant.expected),
                         std::string(mutant.origin)});
  }
  return catalogue;
}

Result<std::unique_ptr<Subject>> make_subject(std::string_view name, const Patience& patience) {
  if (name.starts_with(LibrarySubject::prefix)) return LibrarySubject::load(name);
  if (name.starts_with(process_subject_prefix)) {
    return make_process_subject(name, {.deadline_ms = patience.answer_ms, .hello_ms = patience.start_ms});
  }
  const std::string_view base = name.substr(0, name.find('?'));
  for (const ReferenceRow& row : references) {
    if (row.name != base) continue;
    if (base != name) return Error{fmt::format("{} has no options", base)};
    return std::unique_ptr<Subject>(std::make_unique<ReferenceSubject>(std::string(name), row.planner));
  }
  for (const Mutant& mutant : base.starts_with(mutant_prefix) ? all_mutants() : std::vector<Mutant>{}) {
    if (mutant.name != base.substr(mutant_prefix.size())) continue;
    MutantOptions options(mutant.options);
    const Status set = options.set(base.size() < name.size() ? name.substr(base.size() + 1) : "");
    if (!set) return Error{fmt::format("{}: {}", base, set.error().reason)};
    return std::unique_ptr<Subject>(std::make_unique<ReferenceSubject>(std::string(name), mutant.make(options)));
  }
  return unknown_subject(base);
}

}  // namespace reshardcheck
