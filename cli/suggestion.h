// "Did you mean": the known word that is closest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reshardcheck::cli {

/// The known word with the fewest edits from `typed`, when they are few enough to be a slip.
std::optional<std::string> closest(std::string_view typed, std::span<const std::string> known);

}  // namespace reshardcheck::cli
