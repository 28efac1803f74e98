#include "core/layout/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/layout/limits.h"
#include "core/layout/notation.h"
#include "core/layout/option_table.h"
#include "core/layout/printable.h"

namespace reshardcheck {
namespace {

using nlohmann::json;

json side_to_json(const Layout& layout) {
  json placements = json::array();
  for (const Placement& placement : layout.placements()) placements.push_back(placement.text());
  return {{"mesh", layout.mesh().extents()}, {"ranks", layout.mesh().ranks()}, {"placements", placements}};
}

Error fault(const std::string& pointer, std::string_view reason) {
  return Error{fmt::format("{}{}{}", pointer, pointer.empty() ? "" : ": ", reason)};
}

/// The member of that name, or nullptr when `value` is no object or lacks it.
const json* member(const json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

/// An object without any other member: a misspelt optional member must not pass as left out.
Status only_members(const json& value, std::initializer_list<std::string_view> known, const std::string& pointer) {
  if (!value.is_object()) return fault(pointer, "expected an object");
  for (const auto& [key, unused] : value.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return fault(pointer, fmt::format("unknown member {}; known: {}", in_quotes(key), fmt::join(known, " ")));
    }
  }
  return Ok{};
}

Result<std::vector<std::int64_t>> integers(const json* value, const std::string& pointer, std::int64_t most) {
  if (value == nullptr || !value->is_array()) return fault(pointer, "expected an array of integers");
  if (std::ssize(*value) > most) return fault(pointer, fmt::format("more than {} entries", most));
  std::vector<std::int64_t> result;
  for (const json& entry : *value) {
    const bool fits = entry.is_number_unsigned() ? entry.get<std::uint64_t>() <= INT64_MAX : entry.is_number_integer();
    if (!fits) return fault(pointer, "expected an array of integers");
    result.push_back(entry.get<std::int64_t>());
  }
  return result;
}

Result<std::string> text(const json* value, const std::string& pointer) {
  if (value == nullptr || !value->is_string()) return fault(pointer, "expected a string");
  return value->get<std::string>();
}

/// The side as the notation writes it. Going through text keeps one parser, and one validation, for both faces.
Result<std::string> side_text(const json* side, const std::string& pointer) {
  if (side == nullptr) return fault(pointer, "expected an object with mesh, ranks, placements");
  const Status known = only_members(*side, {"mesh", "ranks", "placements"}, pointer);
  if (!known) return known.error();
  const auto extents = integers(member(*side, "mesh"), pointer + "/mesh", limits::max_axes);
  if (!extents) return extents.error();
  const auto ranks = integers(member(*side, "ranks"), pointer + "/ranks", limits::max_ranks);
  if (!ranks) return ranks.error();
  const json* placements = member(*side, "placements");
  if (placements == nullptr || !placements->is_array() || std::ssize(*placements) > limits::max_axes) {
    return fault(pointer + "/placements", "expected an array of placement strings");
  }
  std::string result = fmt::format("{}{{{}}} ", fmt::join(*extents, "x"), fmt::join(*ranks, ","));
  for (const json& placement : *placements) {
    const auto word = text(&placement, pointer + "/placements");
    if (!word) return word.error();
    if (result.back() != ' ') result += ",";
    result += *word;
  }
  return result;
}

Result<std::string> tensor_text(const json& tensor, const std::string& pointer) {
  const Status known = only_members(tensor, {"name", "dtype", "shape", "path", "source", "target"}, pointer);
  if (!known) return known.error();
  std::string result;
  if (const json* label = member(tensor, "name"); label != nullptr) {
    const auto word = text(label, pointer + "/name");
    if (!word) return word.error();
    if (!word->empty()) result = *word + " = ";
  }
  const auto dtype = text(member(tensor, "dtype"), pointer + "/dtype");
  if (!dtype) return dtype.error();
  const auto shape = integers(member(tensor, "shape"), pointer + "/shape", limits::max_dims);
  if (!shape) return shape.error();
  const auto source = side_text(member(tensor, "source"), pointer + "/source");
  if (!source) return source.error();
  const auto target = side_text(member(tensor, "target"), pointer + "/target");
  if (!target) return target.error();
  result += fmt::format("{}[{}] {} -> {}", *dtype, fmt::join(*shape, ","), *source, *target);
  if (const json* path = member(tensor, "path"); path != nullptr) {
    const auto word = text(path, pointer + "/path");
    if (!word) return word.error();
    result += " via " + *word;
  }
  return result;
}

/// All tensors in one line of notation, parsed at once: equal layouts are shared, and limits hold for the whole case.
Result<Case> tensors_from_json(const json& tensors) {
  std::string line;
  std::vector<std::size_t> begins;  // where each tensor starts in the line
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Result<std::string> one = tensor_text(tensors[i], fmt::format("/tensors/{}", i));
    if (!one) return one.error();
    if (i > 0) line += " ; ";
    begins.push_back(line.size());
    line += *one;
  }
  Result<Case> parsed = parse_case(line);
  if (!parsed) {
    const Error& error = parsed.error();
    const std::size_t at = error.has_position() ? error.position : 0;
    const auto after = std::upper_bound(begins.begin(), begins.end(), at);
    return fault(fmt::format("/tensors/{}", after - begins.begin() - (after == begins.begin() ? 0 : 1)), error.reason);
  }
  // A string that smuggles in a separator would make two tensors, or options, of one.
  if (parsed->tensors.size() != tensors.size() || parsed->options != Options{}) {
    return fault("/tensors", "a string holds more than its member may say");
  }
  return parsed;
}

Status read_options(const json* options, Options& out) {
  if (options == nullptr) return Ok{};
  if (!options->is_object()) return fault("/options", "expected an object");
  for (const auto& [key, value] : options->items()) {
    if (!value.is_string() && !value.is_number_integer())
      return fault("/options/" + printable(key, 40), "expected a string or a number");
    const Status set = set_option(out, key, value.is_string() ? value.get<std::string>() : value.dump());
    if (!set) return fault("/options/" + printable(key, 40), set.error().reason);
  }
  return Ok{};
}

}  // namespace

json to_json(const Case& value) {
  json tensors = json::array();
  for (const TensorCase& tensor : value.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", name(tensor.dtype)},
                       {"shape", tensor.shape()},
                       {"path", name(tensor.path)},
                       {"source", side_to_json(tensor.source)},
                       {"target", side_to_json(tensor.target)}});
  }
  json result = {{"tensors", std::move(tensors)}};
  for (const OptionValue& option : non_default_options(value.options)) {
    result["options"][std::string(option.name)] = option.value;
  }
  return result;
}

nlohmann::ordered_json owners_to_json(const Layout& layout) {
  using nlohmann::ordered_json;
  ordered_json ranks = ordered_json::array();
  for (std::size_t i = 0; i < layout.mesh().size(); ++i) {
    ordered_json dims = ordered_json::array();
    for (std::size_t dim = 0; dim < layout.dims(); ++dim) {
      ordered_json intervals = ordered_json::array();
      for (const Interval& each : layout.piece(i, dim).owned.intervals()) intervals.push_back({each.begin, each.end});
      dims.push_back(std::move(intervals));
    }
    ranks.push_back(
        {{"rank", layout.mesh().ranks()[i]}, {"local_shape", layout.local_shape(i)}, {"intervals", std::move(dims)}});
  }
  return ranks;
}

Result<Case> case_from_json(const json& value) {
  const Status known = only_members(value, {"tensors", "options"}, "");
  if (!known) return known.error();
  const json* tensors = member(value, "tensors");
  if (tensors == nullptr || !tensors->is_array()) return fault("/tensors", "expected an array");
  if (std::ssize(*tensors) > limits::max_tensors) return fault("/tensors", "too many tensors");
  if (tensors->empty()) return fault("/tensors", "a case needs at least one tensor");
  Result<Case> result = tensors_from_json(*tensors);
  if (!result) return result.error();
  const Status set = read_options(member(value, "options"), result->options);
  if (!set) return set.error();
  const Status valid = validate(*result);
  if (!valid) return fault("/options", valid.error().reason);
  return result;
}

Result<Case> parse_case_json(std::string_view input) {
  if (std::ssize(input) > limits::max_text_bytes) return Error{"the JSON text is too long"};
  // Nothing of a case nests deeper; what does is dropped while it is read, so that brackets cost no memory.
  constexpr int most_depth = 8;
  const json::parser_callback_t shallow = [](int depth, json::parse_event_t, json&) { return depth <= most_depth; };
  try {
    return case_from_json(json::parse(input, shallow));
  } catch (const json::parse_error& error) {
    return Error{"this is not JSON", error.byte > 0 ? error.byte - 1 : 0};
  } catch (const json::out_of_range&) {
    return Error{"a number is too large for any reader of JSON"};
  }
}

}  // namespace reshardcheck
