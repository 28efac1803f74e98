// Runs the real binary as a user would: arguments in, exit code and both streams out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace reshardcheck::cli_test {

struct Ran {
  int exit_code = -1;  // -1: killed by a signal, or past the deadline
  std::string out;
  std::string err;
};

/// Runs the binary with these arguments and standard input. A run that lasts longer than two minutes is killed.
Ran run_binary(const std::vector<std::string>& arguments, const std::string& input = "");

/// The lines of a text, without their ends.
std::vector<std::string> lines_of(const std::string& text);

/// The same as JSON. A line that is none fails the test.
std::vector<nlohmann::json> json_lines(const std::string& text);

/// A fresh folder that is removed at the end of the test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path(const std::string& name = "") const;
  /// Writes a file into the folder and returns its path.
  std::string file(const std::string& name, const std::string& text) const;

 private:
  std::string folder_;
};

std::string read_file(const std::string& path);

/// What is wrong with a text as XML (tags that do not close, stray characters), or nothing when it is well formed.
/// Knows elements, attributes, text and the five named entities, which is all the binary writes.
std::string xml_problem(const std::string& text);

}  // namespace reshardcheck::cli_test
