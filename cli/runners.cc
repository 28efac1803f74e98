#include "cli/runners.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "cli/interrupt.h"
#include "core/layout/printable.h"
#include "core/subject/child_process.h"
#include "fuzz/corpus.h"
#include "verifier/worker/worker_runner.h"

namespace reshardcheck::cli {
namespace {

constexpr std::string_view mpi_worker_name = "reshardcheck-worker-mpi";

std::int64_t milliseconds(double seconds) { return static_cast<std::int64_t>(std::ceil(seconds * 1'000)); }

/// Code that we did not write must not run in this process.
bool trusted(std::string_view subject) { return !subject.starts_with("lib:") && !subject.starts_with("proc:"); }

bool needs_workers(const RunOptions& options) {
  return options.world != "sim" || options.isolate || !options.launch.empty() || !trusted(options.subject);
}

Status check_world(const RunOptions& options) {
  const std::vector<std::string> worlds = split_words(known_worlds, ' ');
  if (std::find(worlds.begin(), worlds.end(), options.world) == worlds.end()) {
    return Error{fmt::format("--world: no world '{}'; known: {}", printable(options.world, 40), known_worlds)};
  }
  if (options.world != "mpi") return Ok{};
  if (mpi_worker_path().empty()) {
    return Error{
        fmt::format("--world mpi: this installation has no {}; build it where Open MPI is installed", mpi_worker_name)};
  }
  if (options.launch.empty()) return Error{"--world mpi needs --launch, such as --launch 'mpirun -np 8'"};
  return Ok{};
}

/// Said before anything runs: a worker's output that went nowhere would be missed when it is too late.
Status check_output(const std::string& file) {
  if (file.empty()) return Ok{};
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return Error{fmt::format("--subject-output: {}: {}", file, std::strerror(errno))};
  close(descriptor);
  return Ok{};
}

}  // namespace

std::string own_path() {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/exe", failure).string();
}

std::string mpi_worker_path() {
  const std::filesystem::path beside = std::filesystem::path(own_path()).parent_path() / mpi_worker_name;
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : "";
}

std::string where_flags(const RunOptions& options) {
  std::string flags;
  if (options.world != "sim") flags += " --world " + shell_word(options.world);
  if (!options.launch.empty()) flags += " --launch " + shell_word(options.launch);
  if (options.isolate) flags += " --isolate";
  if (options.case_seconds != RunOptions{}.case_seconds)
    flags += fmt::format(" --case-timeout {:g}", options.case_seconds);
  if (options.start_seconds != RunOptions{}.start_seconds)
    flags += fmt::format(" --start-timeout {:g}", options.start_seconds);
  if (!options.max_bytes.empty()) flags += " --max-bytes " + shell_word(options.max_bytes);
  const Result<Oracles> oracles = parse_oracles(options.oracles);
  if (oracles.ok() && *oracles != Oracles{}) flags += " --oracles " + shell_word(options.oracles);
  return flags.empty() ? flags : flags.substr(1);
}

Result<MakeRunner> make_runners(const RunOptions& options) {
  const Result<ExecutorOptions> executor = executor_options(options);
  if (!executor) return executor.error();
  const Status world = check_world(options);
  if (!world) return world.error();
  if (!needs_workers(options)) return local_runners(*executor);
  WorkerOptions worker;
  worker.binary = own_path();
  worker.world = options.world;
  worker.executor = *executor;
  worker.case_ms = milliseconds(options.case_seconds);
  worker.start_ms = milliseconds(options.start_seconds);
  worker.output_file = options.subject_output;
  worker.cancelled = InterruptGuard::interrupted;
  const Status output = check_output(options.subject_output);
  if (!output) return output.error();
  if (!options.launch.empty()) {
    Result<std::vector<std::string>> words = split_command(options.launch);
    if (!words) return Error{"--launch: " + words.error().reason};
    worker.launch = *std::move(words);
  }
  return worker_runners(worker);
}

}  // namespace reshardcheck::cli
