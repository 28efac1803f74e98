// Mutants: their options, and the tables put together.
#include "core/subject/mutant.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>

namespace reshardcheck {

std::int64_t MutantOptions::operator[](std::string_view name) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const MutantOption& o) { return o.name == name; });
  RESHARDCHECK_CHECK(found != options_.end());
  return found->value;
}

Status MutantOptions::set(std::string_view text) {
  while (!text.empty()) {
    const std::string_view setting = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), setting.size() + 1));
    const std::size_t equals = setting.find('=');
    const std::string_view key = setting.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : setting.substr(equals + 1);
    const auto option =
        std::find_if(options_.begin(), options_.end(), [&](const MutantOption& o) { return o.name == key; });
    if (option == options_.end()) {
      std::string known;
      for (const MutantOption& each : options_) fmt::format_to(std::back_inserter(known), " {}", each.name);
      return Error{options_.empty() ? fmt::format("option '{}' is unknown; this subject has no options", key)
                                    : fmt::format("option '{}' is unknown; known:{}", key, known)};
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < option->lowest ||
        number > option->highest) {
      return Error{fmt::format("{}={}: give a number in {}..{}", key, value, option->lowest, option->highest)};
    }
    option->value = number;
  }
  return Ok{};
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all;
  for (auto* table : {layout_mutants, addressing_mutants, planning_mutants, transport_mutants, batch_mutants,
                      buffer_mutants, protocol_mutants}) {
    std::vector<Mutant> mutants = table();
    all.insert(all.end(), std::make_move_iterator(mutants.begin()), std::make_move_iterator(mutants.end()));
  }
  return all;
}

}  // namespace reshardcheck
