#include "verifier/fingerprint_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/layout/notation.h"

namespace reshardcheck {

Result<Layout> parse_side(const Shape& shape, std::string_view text) {
  // The notation has no side by itself, so the text stands on both sides of a case.
  const std::string prefix = fmt::format("u8[{}] ", fmt::join(shape, ","));
  const Result<Case> parsed = parse_case(fmt::format("{}{} -> {}", prefix, text, text));
  if (parsed && parsed->tensors.size() == 1 && parsed->tensors[0].source == parsed->tensors[0].target) {
    return parsed->tensors[0].source;
  }
  Error error = parsed ? Error{"expected one mesh and its placements"} : parsed.error();
  const bool inside =
      error.has_position() && error.position >= prefix.size() && error.position <= prefix.size() + text.size();
  error.position = inside ? error.position - prefix.size() : Error::no_position;
  return error;
}

}  // namespace reshardcheck
