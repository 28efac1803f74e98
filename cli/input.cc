// Text and JSON are parsed by core/layout; this file finds the cases in arguments and says where each stood.
#include "cli/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/output.h"
#include "core/layout/json.h"
#include "core/layout/limits.h"
#include "core/layout/notation.h"
#include "fuzz/corpus.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::json;
using Sequences = std::vector<InputSequence>;

Result<Sequence> sequence_of_text(std::string_view text) {
  Result<Sequence> value = parse_sequence(text);
  if (!value) return Error{explain_error(text, value.error())};
  return value;
}

/// From JSON: a case itself, or an object that carries text as "case".
Result<Sequence> sequence_of_json(const json& value) {
  if (value.is_object() && value.contains("case") && value["case"].is_string()) {
    return sequence_of_text(value["case"].get<std::string>());
  }
  Result<Case> single = case_from_json(value);
  if (!single) return single.error();
  return Sequence{{*std::move(single)}};
}

Result<json> parse_json(std::string_view text) {
  if (std::ssize(text) > limits::max_text_bytes) return Error{"more JSON than is read as one case"};
  json value = json::parse(text, nullptr, false);
  if (!value.is_discarded()) return value;
  // Parsed once more by the room that knows how to say where it broke.
  const Result<Case> broken = parse_case_json(text);
  return broken.ok() ? Error{"broken JSON"} : Error{explain_error(text, broken.error())};
}

Result<Sequence> sequence_of_line(std::string_view line) {
  if (!line.starts_with('{')) return sequence_of_text(line);
  const Result<json> value = parse_json(line);
  if (!value) return value.error();
  return sequence_of_json(*value);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

Status append_lines(std::string_view text, const std::string& name, Sequences& sequences) {
  text = without_byte_order_mark(text);
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    std::string place = fmt::format("{}:{}", name, number);
    Result<Sequence> value = sequence_of_line(line);
    if (!value) return Error{fmt::format("{}: {}", place, value.error().reason)};
    sequences.push_back({*std::move(value), std::move(place)});
  }
  return Ok{};
}

Status append_json(std::string_view text, const std::string& name, Sequences& sequences) {
  const Result<json> parsed = parse_json(without_byte_order_mark(text));
  if (!parsed) return Error{fmt::format("{}: {}", name, parsed.error().reason)};
  const json list = parsed->is_array() ? *parsed : json::array({*parsed});
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string place = parsed->is_array() ? fmt::format("{}[{}]", name, i) : name;
    Result<Sequence> value = sequence_of_json(list[i]);
    if (!value) return Error{fmt::format("{}: {}", place, value.error().reason)};
    sequences.push_back({*std::move(value), std::move(place)});
  }
  return Ok{};
}

Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  while (stream.read(block.data(), std::ssize(block)) || stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (std::ssize(text) > max_case_file_bytes) {
      return Error{fmt::format("{}: more than the {} bytes that are read of one file", name, max_case_file_bytes)};
    }
  }
  if (stream.bad()) return Error{fmt::format("{}: cannot be read: {}", name, std::strerror(errno))};
  return text;
}

/// Names of descriptors that this process was started with, such as a shell's <(command); they may well be pipes.
bool names_a_descriptor(std::string_view name) {
  return name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/");
}

Status append_file(const std::string& name, Sequences& sequences) {
  std::error_code ignored;
  const bool special = std::filesystem::exists(name, ignored) && !std::filesystem::is_regular_file(name, ignored);
  if (special && !names_a_descriptor(name)) {  // it might never end
    return Error{fmt::format("{}: neither a file nor a directory; a pipe is read as - or /dev/stdin", name)};
  }
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  if (!file) return Error{fmt::format("{}: cannot be opened: {}", name, std::strerror(errno))};
  const Result<std::string> text = read_stream(file, name);
  if (!text) return text.error();
  return name.ends_with(".json") ? append_json(*text, name, sequences) : append_lines(*text, name, sequences);
}

/// All .case files of a directory and its folders, in the order of their names.
Status append_directory(const std::string& name, Sequences& sequences, std::vector<std::string>* unreadable) {
  const Result<std::vector<std::string>> files = case_files(name);
  if (!files) return files.error();
  for (const std::string& file : *files) {
    const std::size_t before = sequences.size();
    const Status read = append_file(file, sequences);
    if (read.ok()) continue;
    if (unreadable == nullptr) return read;
    unreadable->push_back(read.error().reason);
    sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(before), sequences.end());
  }
  return Ok{};
}

Error no_case_in(std::span<const std::string> arguments) {
  constexpr std::size_t max_shown_bytes = 200;
  std::string names;
  bool directory = false;
  std::error_code ignored;
  for (const std::string& argument : arguments) {
    names += (names.empty() ? "" : ", ") + (argument == "-" ? "standard input" : argument);
    directory = directory || std::filesystem::is_directory(argument, ignored);
  }
  return Error{fmt::format("there is no case in {}{}", shortened(names, max_shown_bytes),
                           directory ? "; of a directory, files named *.case are read" : "")};
}

/// True for what was meant as the name of a file: every case has a bracket.
bool looks_like_a_file(std::string_view argument) {
  return !argument.empty() && argument.find_first_of("[{ \t") == std::string_view::npos;
}

Status append_argument(const std::string& argument, Sequences& sequences, std::vector<std::string>* unreadable) {
  if (argument == "-") {
    const Result<std::string> text = read_stream(std::cin, "standard input");
    if (!text) return text.error();
    return append_lines(*text, "standard input", sequences);
  }
  std::error_code ignored;  // a case is too long or too strange for a file name, which is no error here
  if (std::filesystem::is_directory(argument, ignored)) {
    return append_directory(argument, sequences, unreadable);
  }
  if (std::filesystem::exists(argument, ignored)) return append_file(argument, sequences);
  if (looks_like_a_file(argument)) return Error{fmt::format("{}: no such file, and no case", shortened(argument, 200))};
  Result<Sequence> value = sequence_of_line(trimmed(argument));
  if (!value) return value.error();
  sequences.push_back({*std::move(value), ""});
  return Ok{};
}

}  // namespace

std::string input_hint(std::span<const std::string> arguments) {
  std::string joined;
  for (const std::string& argument : arguments) joined += (joined.empty() ? "" : " ") + argument;
  if (arguments.size() > 1 && parse_sequence(joined).ok()) {
    return fmt::format("a case is one argument, in quotes: {}", shell_word(joined));
  }
  return "'reshardcheck run --help' shows the notation with examples";
}

std::string place_prefix(const InputSequence& input) { return input.place.empty() ? "" : input.place + ": "; }

Result<std::vector<InputSequence>> read_sequences(std::span<const std::string> arguments,
                                                  std::vector<std::string>* unreadable) {
  Sequences sequences;
  for (const std::string& argument : arguments) {
    const Status read = append_argument(argument, sequences, unreadable);
    if (!read) return read.error();
  }
  if (sequences.empty()) return no_case_in(arguments);
  return sequences;
}

Result<std::vector<InputCase>> read_input(std::span<const std::string> arguments) {
  Result<Sequences> sequences = read_sequences(arguments);
  if (!sequences) return sequences.error();
  std::vector<InputCase> cases;
  for (InputSequence& each : *sequences) {
    if (each.value.steps.size() > 1) {
      return Error{fmt::format("{}a sequence of {} steps; this command takes one case at a time", place_prefix(each),
                               each.value.steps.size())};
    }
    cases.push_back({std::move(each.value.steps.front()), std::move(each.place)});
  }
  return cases;
}

}  // namespace reshardcheck::cli
