// posix_spawn, two pipes, a deadline.
#include "tests/cli/binary.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

extern char** environ;

namespace reshardcheck::cli_test {
namespace {

constexpr auto deadline = std::chrono::minutes(2);

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    read_end = ends[0];
    write_end = ends[1];
  }
};

/// Reads both streams to their ends; false when the deadline passed first.
bool drain(std::array<pollfd, 2> streams, std::array<std::string*, 2> texts) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  int open_streams = 2;
  std::array<char, 65'536> block{};
  while (open_streams > 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    if (poll(streams.data(), streams.size(), 1'000) < 0) return false;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].fd < 0 || streams[i].revents == 0) continue;
      const ssize_t got = read(streams[i].fd, block.data(), block.size());
      if (got > 0) {
        texts[i]->append(block.data(), static_cast<std::size_t>(got));
      } else {
        streams[i].fd = -1;  // poll passes over it
        --open_streams;
      }
    }
  }
  return true;
}

}  // namespace

Ran run_binary(const std::vector<std::string>& arguments, const std::string& input) {
  const Folder folder;
  const std::string input_file = folder.file("input", input);
  Pipe out;
  Pipe err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input_file.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, 2);
  std::string program = RESHARDCHECK_BINARY;
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers{program.data()};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int spawned = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out.write_end);
  close(err.write_end);
  Ran result;
  if (spawned == 0) {
    if (!drain({{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}}}, {&result.out, &result.err})) {
      kill(child, SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  }
  close(out.read_end);
  close(err.read_end);
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> values;
  for (const std::string& line : lines_of(text)) {
    values.push_back(nlohmann::json::parse(line, nullptr, false));
    EXPECT_FALSE(values.back().is_discarded()) << line;
  }
  return values;
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "reshardcheck-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  folder_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Folder::path(const std::string& name) const { return name.empty() ? folder_ : folder_ + "/" + name; }

std::string Folder::file(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace reshardcheck::cli_test
