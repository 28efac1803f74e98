// All numbers come from the verdict; this file only chooses words for them.
#include "cli/verdict_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/layout/notation.h"
#include "fuzz/corpus.h"

namespace reshardcheck::cli {
namespace {

using nlohmann::ordered_json;

std::string bits_text(std::uint64_t bits, DType dtype) {
  return fmt::format("0x{:0{}x}", bits, 2 * width_bytes(dtype));
}

std::string index_text(const Shape& index) { return fmt::format("[{}]", fmt::join(index, ",")); }

std::string tensor_text(const Case& value, std::size_t tensor) {
  const std::string& name = value.tensors[tensor].name;
  return name.empty() ? fmt::format("tensor {}", tensor) : name;
}

ordered_json wrong_json(const Case& value, const WrongElement& wrong) {
  const DType dtype = value.tensors[wrong.tensor].dtype;
  ordered_json result{{"tensor", wrong.tensor},
                      {"rank", wrong.rank},
                      {"local", wrong.local_index},
                      {"global", wrong.global_index},
                      {"expected", bits_text(wrong.expected, dtype)},
                      {"got", bits_text(wrong.got, dtype)}};
  if (wrong.origin) result["origin"] = {{"tensor", wrong.origin->tensor}, {"index", wrong.origin->index}};
  return result;
}

std::string arguments_of(const CaseReport& report) {
  return fmt::format("{} --subject {}{}{}", shell_word(to_text(*report.value)), shell_word(report.subject),
                     report.where.empty() ? "" : " ", report.where);
}

}  // namespace

ordered_json report_json(const CaseReport& report) {
  const Verdict& verdict = report.verdict;
  ordered_json result{{"case", to_text(*report.value)}, {"verdict", name(verdict.kind)},
                      {"detail", verdict.detail},       {"seed", report.value->steps.front().options.seed},
                      {"subject", report.subject},      {"world", report.world},
                      {"elapsed_us", report.elapsed_us}};
  if (report.value->steps.size() > 1) result["step"] = report.step + 1;
  if (!report.place.empty()) result["place"] = report.place;
  if (!verdict.failed()) return result;
  result["oracle"] = verdict.oracle;
  result["wrong_elements"] = verdict.wrong_elements;
  result["wrong"] = ordered_json::array();
  for (const WrongElement& wrong : verdict.wrong) result["wrong"].push_back(wrong_json(report.judged(), wrong));
  return result;
}

std::string to_text(const Case& value, const WrongElement& wrong) {
  const DType dtype = value.tensors[wrong.tensor].dtype;
  std::string result =
      fmt::format("rank {}, {}, local {} = global {}: expected {}, got {}", wrong.rank,
                  tensor_text(value, wrong.tensor), index_text(wrong.local_index), index_text(wrong.global_index),
                  bits_text(wrong.expected, dtype), bits_text(wrong.got, dtype));
  if (wrong.origin && wrong.origin->padding) {
    result += ", which is padding of a source";
  } else if (wrong.origin) {
    result +=
        fmt::format(", which is {} {}", tensor_text(value, wrong.origin->tensor), index_text(wrong.origin->index));
  }
  return result;
}

std::string detail_text(const CaseReport& report) {
  return step_prefix(*report.value, report.step) + report.verdict.detail;
}

std::string failure_lines(const CaseReport& report, std::string_view prefix) {
  const std::string text = to_text(*report.value);
  const Verdict& verdict = report.verdict;
  std::string result = fmt::format("{}{}\n{}{}\n", prefix, text, prefix, detail_text(report));
  for (const WrongElement& wrong : verdict.wrong) {
    result += fmt::format("{}  {}\n", prefix, to_text(report.judged(), wrong));
  }
  const std::int64_t unseen = verdict.wrong_elements - std::ssize(verdict.wrong);
  if (!verdict.wrong.empty() && unseen > 0) result += fmt::format("{}  and {} more\n", prefix, unseen);
  return result + fmt::format("{}replay: reshardcheck run {}{}", prefix, arguments_of(report),
                              report.repeat > 1 ? fmt::format(" --repeat {}", report.repeat) : "");
}

std::string shrink_command(const CaseReport& report) { return "reshardcheck shrink " + arguments_of(report); }

Colour colour_of(VerdictKind kind) {
  if (kind == VerdictKind::pass) return Colour::green;
  return is_failure(kind) ? Colour::red : Colour::yellow;
}

}  // namespace reshardcheck::cli
