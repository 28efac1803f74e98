// The options of a case, name by name: one table that the notation and JSON both read and print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/layout/case.h"

namespace reshardcheck {

struct OptionValue {
  std::string_view name;
  std::string value;
};

/// The options that differ from their defaults, in canonical order, as the notation prints them.
std::vector<OptionValue> non_default_options(const Options& options);

/// Sets one option from its text; an unknown name or a value that does not parse is an error that lists what is
/// known. Ranges that depend on the rest of the case are validate()'s.
Status set_option(Options& options, std::string_view name, std::string_view value);

}  // namespace reshardcheck
