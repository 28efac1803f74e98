// Written by hand: the format is five elements, and case text needs nothing but escaping.
#include "cli/junit.h"

#include <fmt/format.h>

#include <algorithm>

namespace reshardcheck::cli {
namespace {

std::string seconds(std::int64_t microseconds) {
  return fmt::format("{:.6f}", static_cast<double>(microseconds) / 1e6);
}

std::string outcome_element(const JunitCase& value) {
  if (value.verdict == VerdictKind::unsupported) {
    return fmt::format("    <skipped message=\"{}\"/>\n", xml_escaped(value.detail));
  }
  if (!is_failure(value.verdict)) return "";
  return fmt::format("    <failure type=\"{}\" message=\"{}\">{}</failure>\n", name(value.verdict),
                     xml_escaped(value.detail), xml_escaped(value.name));
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += (c >= ' ' && c <= '~') || c == '\n' || c == '\t' ? c : '?';
    }
  }
  return result;
}

std::string junit_xml(std::string_view suite, std::span<const JunitCase> cases) {
  const auto failures =
      std::count_if(cases.begin(), cases.end(), [](const JunitCase& each) { return is_failure(each.verdict); });
  const auto skipped = std::count_if(cases.begin(), cases.end(),
                                     [](const JunitCase& each) { return each.verdict == VerdictKind::unsupported; });
  std::int64_t elapsed_us = 0;
  for (const JunitCase& each : cases) elapsed_us += each.elapsed_us;
  std::string result = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\">\n",
      xml_escaped(suite), cases.size(), failures, skipped, seconds(elapsed_us));
  for (const JunitCase& each : cases) {
    result +=
        fmt::format("  <testcase name=\"{}\" classname=\"{}\" time=\"{}\">\n{}  </testcase>\n", xml_escaped(each.name),
                    xml_escaped(each.class_name), seconds(each.elapsed_us), outcome_element(each));
  }
  return result + "</testsuite>\n</testsuites>\n";
}

}  // namespace reshardcheck::cli
