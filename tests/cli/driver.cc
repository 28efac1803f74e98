// Processes are found through /proc.
#include "tests/cli/driver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace reshardcheck::cli_test {
namespace {

namespace fs = std::filesystem;

constexpr int line_ms = 60'000;
constexpr int look_ms = 5;

/// The value of a variable in the text of /proc/PID/environ.
std::string value_of(const std::string& environment, const std::string& name) {
  const std::string text = '\0' + environment;
  const std::size_t at = text.find('\0' + name + "=");
  if (at == std::string::npos) return "";
  return std::string(text.c_str() + at + name.size() + 2);
}

}  // namespace

std::string misbehaving_subject(const std::string& what) {
  return "lib:" RESHARDCHECK_MISBEHAVING_SUBJECT "?do=" + what;
}

Driver::Driver(const std::vector<std::string>& arguments, const std::vector<std::string>& launcher) {
  fs::create_directory(folder_.path("tmp"));
  mark_ = folder_.path();
  errors_ = open(folder_.path("err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ChildOptions options;
  options.words = launcher;
  options.words.emplace_back(RESHARDCHECK_BINARY);
  options.words.insert(options.words.end(), arguments.begin(), arguments.end());
  options.environment = {"TMPDIR=" + folder_.path("tmp"), "RESHARDCHECK_TEST_MARK=" + mark_, "OMPI_ALLOW_RUN_AS_ROOT=1",
                         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  options.talk = true;
  options.output = errors_;
  Result<ChildProcess> child = ChildProcess::start(options);
  if (!child) std::abort();
  child_ = *std::move(child);
  lines_ = LineChannel(child_.channel());
}

Driver::~Driver() {
  child_.stop(0);
  for (const MarkedProcess& process : started()) kill(process.id, SIGKILL);
  if (errors_ >= 0) close(errors_);
}

std::optional<std::string> Driver::next_line() {
  std::string line;
  if (lines_.read(line, line_ms) != ChannelStatus::ok) return std::nullopt;
  return line;
}

void Driver::kill_alone() {
  if (child_.id() > 0) kill(child_.id(), SIGKILL);
  killed_ = true;
  child_.wait(line_ms);
}

Ran Driver::end() {
  Ran ran;
  while (const std::optional<std::string> line = next_line()) ran.out += *line + "\n";
  const std::optional<ExitStatus> status = child_.wait(line_ms);
  if (status && !status->signalled) ran.exit_code = status->number;
  ran.err = read_file(folder_.path("err"));
  return ran;
}

std::vector<MarkedProcess> Driver::started() const {
  std::vector<MarkedProcess> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const pid_t id = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    if (id <= 0 || id == child_.id()) continue;
    const std::string environment = read_file(entry.path() / "environ");
    if (value_of(environment, "RESHARDCHECK_TEST_MARK") != mark_) continue;
    MarkedProcess process{id, read_file(entry.path() / "cmdline"), -1};
    for (char& letter : process.command) letter = letter == '\0' ? ' ' : letter;
    const std::string rank = value_of(environment, "OMPI_COMM_WORLD_RANK");
    if (!rank.empty()) process.mpi_rank = std::atoi(rank.c_str());
    found.push_back(std::move(process));
  }
  return found;
}

std::string Driver::left_behind(int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!started().empty() && std::chrono::steady_clock::now() < deadline) poll(nullptr, 0, look_ms);
  std::string left;
  for (const MarkedProcess& process : started()) left += fmt::format("process {}: {}\n", process.id, process.command);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path("tmp"))) {
    const std::string name = entry.path().filename().string();
    if (!killed_ && !name.starts_with("ompi."))
      left += "file " + name + "\n";  // Open MPI keeps a folder a user and machine
  }
  return left;
}

HangingCampaign hanging_campaign(const std::string& corpus, const std::vector<std::string>& where) {
  const std::vector<std::string> words{"fuzz",   "--cases", "200",  "--seed", "3",
                                       "--json", "--ranks", "2..4", "--out",  corpus};
  // The same campaign on the same library told to fail says at which case it hangs, and how much is printed before.
  std::vector<std::string> failing = words;
  failing.insert(failing.end(), {"--subject", misbehaving_subject("error")});
  std::string text;
  std::size_t lines_before = 1;  // its start
  for (const std::string& line : lines_of(run_binary(failing).out)) {
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object() || event["event"] != "case") continue;
    text = event["case"];
    if (event["verdict"] != "pass") break;
    ++lines_before;
  }
  std::vector<std::string> hanging = words;
  hanging.insert(hanging.end(), {"--subject", misbehaving_subject("hang"), "--case-timeout", "100"});
  hanging.insert(hanging.end(), where.begin(), where.end());
  HangingCampaign campaign{std::make_unique<Driver>(hanging), text};
  for (std::size_t lines = 0; lines < lines_before; ++lines) campaign.driver->next_line();
  const std::string file = corpus + "/inflight/" + std::to_string(campaign.driver->id()) + ".case";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(line_ms);
  while (std::chrono::steady_clock::now() < deadline) {
    const std::string noted = read_file(file);
    if (noted.starts_with("# running") && noted.find("\n" + text) != std::string::npos) return campaign;
    poll(nullptr, 0, look_ms);
  }
  campaign.text.clear();
  return campaign;
}

int signal_started(const Driver& driver, int signal, const std::function<bool(const MarkedProcess&)>& wanted) {
  kill(driver.id(), SIGSTOP);
  int found = 0;
  for (const MarkedProcess& process : driver.started()) {
    if (!wanted(process)) continue;
    ++found;
    kill(process.id, signal);
  }
  kill(driver.id(), SIGCONT);
  return found;
}

CleanRan run_watched(const std::vector<std::string>& arguments) {
  Driver driver(arguments);
  CleanRan result;
  result.ran = driver.end();
  result.left_behind = driver.left_behind(10);
  return result;
}

}  // namespace reshardcheck::cli_test
