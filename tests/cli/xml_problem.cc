// A well-formedness check of the XML that the binary writes: a stack of open tags.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "tests/cli/binary.h"

namespace reshardcheck::cli_test {
namespace {

bool is_known_entity(std::string_view text) {
  for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
    if (text.starts_with(entity)) return true;
  }
  return false;
}

std::string text_problem(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || (text[i] == '&' && !is_known_entity(text.substr(i)))) {
      return "stray character in: " + std::string(text.substr(i, 40));
    }
  }
  return "";
}

/// Checks name="value" pairs up to the end of a tag's inside.
std::string attributes_problem(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n\t"), text.size()));
    if (text.empty()) return "";
    const std::size_t equals = text.find("=\"");
    if (equals == std::string_view::npos) return "attribute without value: " + std::string(text);
    const std::size_t end = text.find('"', equals + 2);
    if (end == std::string_view::npos) return "attribute that does not end: " + std::string(text);
    const std::string problem = text_problem(text.substr(equals + 2, end - equals - 2));
    if (!problem.empty()) return problem;
    text.remove_prefix(end + 1);
  }
}

/// Where the tag that begins at `begin` ends, quotes respected.
std::size_t tag_end(std::string_view text, std::size_t begin) {
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '>' && !quoted) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string xml_problem(const std::string& document) {
  std::string_view text = document;
  if (text.starts_with("<?xml")) text.remove_prefix(std::min(text.find("?>") + 2, text.size()));
  std::vector<std::string_view> open;
  std::size_t roots = 0;
  while (true) {
    const std::size_t begin = std::min(text.find('<'), text.size());
    const std::string problem = text_problem(text.substr(0, begin));
    if (!problem.empty()) return problem;
    if (begin == text.size()) break;
    const std::size_t end = tag_end(text, begin);
    if (end == std::string_view::npos) return "tag that does not end";
    std::string_view tag = text.substr(begin + 1, end - begin - 1);
    text.remove_prefix(end + 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "wrong closing tag: " + std::string(tag);
      open.pop_back();
      continue;
    }
    const bool closed = tag.ends_with('/');
    if (closed) tag.remove_suffix(1);
    const std::string_view name = tag.substr(0, tag.find_first_of(" \n\t"));
    const std::string wrong = attributes_problem(tag.substr(name.size()));
    if (!wrong.empty()) return wrong;
    if (open.empty()) ++roots;
    if (!closed) open.push_back(name);
  }
  if (!open.empty()) return "unclosed: " + std::string(open.back());
  return roots == 1 ? "" : "not one root";
}

}  // namespace reshardcheck::cli_test
