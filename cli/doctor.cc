// reshardcheck doctor: is this machine and this installation fit, and what is switched off?
//
// Ends with a self-test: a case that must pass does, and a seeded bug that must be caught is. When either surprises,
// nothing this binary says could be believed, and the exit code is 3.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/build_info.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/runners.h"
#include "core/layout/json.h"
#include "core/layout/notation.h"
#include "core/subject/registry.h"
#include "verifier/executor.h"

namespace reshardcheck::cli {
namespace {

enum class Health : std::uint8_t { good, off, bad };

std::string_view name(Health health) {
  switch (health) {
    case Health::good:
      return "ok";
    case Health::off:
      return "off";
    case Health::bad:
      return "BAD";
  }
  return "";
}

struct PartReport {
  std::string part;
  Health health = Health::good;
  std::string what;
};

bool has_library(const char* file) {
  void* const library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

bool on_search_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split_words(path == nullptr ? "" : path, ':')) {
    if (!folder.empty() && access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// A part that this build does without: whether the machine has what it would need, and what it would add.
PartReport optional_part(const std::string& part, bool found, std::string_view adds) {
  return {part, Health::off,
          fmt::format("{} on this machine; this build does without ({})", found ? "found" : "not found", adds)};
}

PartReport mpi_part() {
  const bool launcher = on_search_path("mpirun");
  if (mpi_worker_path().empty()) {
    return optional_part("world mpi", launcher, "ranks as processes, on one host or many");
  }
  return {"world mpi", launcher ? Health::good : Health::off,
          launcher ? "built in, in workers: --world mpi --launch 'mpirun -np 8'"
                   : "built in; mpirun is not on the search path (another launcher may be)"};
}

/// A case whose verdict is known before it is run.
struct KnownAnswer {
  std::string part;
  std::string subject;
  std::string text;
  bool must_fail = false;
};

PartReport examine(const KnownAnswer& known) {
  const Result<Case> value = parse_case(known.text);
  const Result<std::unique_ptr<Subject>> subject = make_subject(known.subject);
  if (!value || !subject) {
    return {known.part, Health::bad, value.ok() ? subject.error().reason : value.error().reason};
  }
  Executor executor;
  const Result<Verdict> verdict = executor.run(*value, **subject);
  if (!verdict) return {known.part, Health::bad, verdict.error().reason};
  const Health health = verdict->failed() == known.must_fail ? Health::good : Health::bad;
  return {known.part, health, fmt::format("{} on {}: {}", known.subject, known.text, name(verdict->kind))};
}

std::vector<PartReport> examine_all() {
  const std::int64_t memory = available_memory_bytes();
  std::vector<PartReport> result{
      {"build", Health::good, build_description()},
      {"cores", Health::good, std::to_string(std::max(1U, std::thread::hardware_concurrency()))},
      {"memory", memory < (std::int64_t{256} << 20) ? Health::bad : Health::good,
       fmt::format("{} free; cases may take {} (--max-bytes)", human_bytes(memory), human_bytes(memory / 2))},
      {"world sim", Health::good, "built in"},
      {"world threads", Health::good, "built in, in workers"},
      mpi_part(),
      optional_part("CUDA", has_library("libcuda.so.1"), "buffers in device memory"),
      optional_part("NCCL", has_library("libnccl.so.2"), "subjects and transfers on GPUs"),
  };
  result.push_back(examine({"known good", "reference", "u8[6,5] 2x2@0 S(0),S(0) -> 3@4 S(1)", false}));
  result.push_back(examine({"canary", "mutant:flat-chunk", "u8[5] 2x2@0 S(0),S(0) -> 1@4 R", true}));
  return result;
}

ExitCode doctor(Console& console, bool json) {
  const std::vector<PartReport> found = examine_all();
  bool fit = true;
  std::vector<std::vector<std::string>> rows;
  for (const PartReport& each : found) {
    fit = fit && each.health != Health::bad;
    rows.push_back({each.part, std::string(name(each.health)), each.what});
    if (json) {
      const nlohmann::ordered_json line{{"part", each.part}, {"health", name(each.health)}, {"what", each.what}};
      console.out.line(json_line(line));
    }
  }
  const std::string_view verdict = fit ? "this installation is fit" : "this installation is NOT fit: see BAD above";
  if (json) {
    console.out.line(json_line(nlohmann::ordered_json{{"fit", fit}}));
  } else {
    console.out.print(Table::whole({{"part"}, {"health"}, {"what"}}, rows));
    console.out.line(verdict);
  }
  return fit ? ExitCode::clean : ExitCode::environment;
}

}  // namespace

Action add_doctor(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Examine this installation and test the tester");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object a part, and one for the whole");
  command->footer("Exit code 0: fit. 3: something that is needed does not work.");
  return [json](Console& console) { return doctor(console, *json); };
}

}  // namespace reshardcheck::cli
