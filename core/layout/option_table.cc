#include "core/layout/option_table.h"

#include <fmt/format.h>

#include <charconv>

#include "core/layout/limits.h"
#include "core/layout/printable.h"

namespace reshardcheck {
namespace {

template <typename Integer>
bool read_integer(std::string_view text, Integer& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && text.front() != '-' && problem == std::errc{} && end == text.data() + text.size();
}

/// Splits at the first `mark`; the second part is empty when there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool read_fault(std::string_view text, Fault& fault) {
  const auto [kind, place] = cut(text, '@');
  const auto [at, call] = cut(place, '.');
  for (const FaultKind each : {FaultKind::drop, FaultKind::duplicate, FaultKind::reorder, FaultKind::corrupt,
                               FaultKind::truncate, FaultKind::kill, FaultKind::stall}) {
    if (name(each) != kind) continue;
    fault.kind = each;
    const bool has_call = place.find('.') != std::string_view::npos;
    return read_integer(at, fault.at) && (!has_call || read_integer(call, fault.call));
  }
  return false;
}

bool read_faults(std::string_view text, std::vector<Fault>& faults) {
  faults.clear();
  while (true) {
    if (std::ssize(faults) == limits::max_faults) return false;
    const std::size_t plus = text.find('+');
    if (!read_fault(text.substr(0, plus), faults.emplace_back())) return false;
    if (plus == std::string_view::npos) return true;
    text.remove_prefix(plus + 1);
  }
}

bool read_domain(std::string_view text, Options& options) {
  const auto [ranks, anchor] = cut(text, '@');
  options.domain_anchor = 0;
  const bool has_anchor = text.find('@') != std::string_view::npos;
  return read_integer(ranks, options.domain_ranks) && options.domain_ranks > 0 &&
         (!has_anchor || read_integer(anchor, options.domain_anchor));
}

bool read_fill(std::string_view text, FillKind& fill) {
  for (const FillKind each : {FillKind::digits, FillKind::hash, FillKind::special, FillKind::provenance}) {
    if (name(each) != text) continue;
    fill = each;
    return true;
  }
  return false;
}

std::string faults_text(const std::vector<Fault>& faults) {
  std::string result;
  for (const Fault& fault : faults) {
    if (!result.empty()) result += "+";
    result += fmt::format("{}@{}", name(fault.kind), fault.at);
    if (fault.call != 0) result += fmt::format(".{}", fault.call);
  }
  return result;
}

struct Row {
  std::string_view name;
  std::string_view form;  // what a value looks like, for the error line
  bool (*read)(std::string_view, Options&);
  std::string (*print)(const Options&);  // empty at the default
};

template <auto Member>
constexpr Row integer_row(std::string_view name) {
  return {name, "a number", [](std::string_view text, Options& options) { return read_integer(text, options.*Member); },
          [](const Options& options) {
            return options.*Member == Options{}.*Member ? std::string() : std::to_string(options.*Member);
          }};
}

constexpr Row table[] = {
    integer_row<&Options::world_ranks>("world"),
    {"domain", "ranks[@anchor] with at least one rank", read_domain,
     [](const Options& options) {
       if (options.domain_ranks == 0) return std::string();
       if (options.domain_anchor == 0) return std::to_string(options.domain_ranks);
       return fmt::format("{}@{}", options.domain_ranks, options.domain_anchor);
     }},
    {"fill", "digits, hash, special or provenance",
     [](std::string_view text, Options& options) { return read_fill(text, options.fill); },
     [](const Options& options) {
       return options.fill == FillKind::digits ? std::string() : std::string(name(options.fill));
     }},
    integer_row<&Options::seed>("seed"),
    integer_row<&Options::refits>("refits"),
    integer_row<&Options::chunk_bytes>("chunk"),
    integer_row<&Options::gap_elements>("gap"),
    integer_row<&Options::batch_tensors>("batch"),
    {"faults", "kind@message or kill@rank[.call], joined by '+'",
     [](std::string_view text, Options& options) { return read_faults(text, options.faults); },
     [](const Options& options) { return faults_text(options.faults); }},
};

}  // namespace

std::vector<OptionValue> non_default_options(const Options& options) {
  std::vector<OptionValue> result;
  for (const Row& row : table) {
    std::string value = row.print(options);
    if (!value.empty()) result.push_back({row.name, std::move(value)});
  }
  return result;
}

Status set_option(Options& options, std::string_view name, std::string_view value) {
  std::string known;
  for (const Row& row : table) {
    if (row.name == name) {
      if (row.read(value, options)) return Ok{};
      return Error{fmt::format("option {}: {} is not {}", name, in_quotes(value), row.form)};
    }
    known += " " + std::string(row.name);
  }
  return Error{fmt::format("unknown option {}; known:{}", in_quotes(name), known)};
}

}  // namespace reshardcheck
