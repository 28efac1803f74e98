#include "verifier/fingerprint_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "core/layout/limits.h"

namespace reshardcheck {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view format_name = "reshardcheck-fingerprints";
constexpr std::size_t digest_digits = 32;
constexpr int map_fields = 4;  // dp:pp:pcp:tp before the name

bool is_digest(std::string_view text) {
  return text.size() == digest_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The name in "dp:pp:pcp:tp:name", which may itself have colons; the whole text when the ranks are not there.
std::string_view name_in_map(std::string_view text) {
  std::string_view rest = text;
  for (int field = 0; field < map_fields; ++field) {
    const std::size_t colon = rest.find(':');
    const std::string_view digits = rest.substr(0, colon);
    if (colon == std::string_view::npos || digits.empty() ||
        digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return text;
    }
    rest.remove_prefix(colon + 1);
  }
  return rest;
}

std::optional<std::string> text_member(const json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<FingerprintRecord> read_record(const json& entry) {
  if (!entry.is_object() || !entry.contains("shape") || !entry["shape"].is_array()) return std::nullopt;
  const auto tensor_name = text_member(entry, "name");
  const auto dtype = text_member(entry, "dtype");
  const auto digest = text_member(entry, "digest");
  if (!tensor_name || !dtype || !digest || !is_digest(*digest)) return std::nullopt;
  FingerprintRecord record{*tensor_name, *dtype, {}, *digest};
  for (const json& extent : entry["shape"]) {
    if (!extent.is_number_unsigned()) return std::nullopt;
    record.shape.push_back(extent.get<std::int64_t>());
  }
  return record;
}

Result<FingerprintBook> read_book(const json& value) {
  if (value.value("version", json()) != json(1)) return Error{"fingerprints of a version this program does not know"};
  const auto key = text_member(value, "key");
  if (!key || !value.contains("tensors") || !value["tensors"].is_array()) return Error{"key or tensors is missing"};
  FingerprintBook book{*key, {}};
  for (const json& entry : value["tensors"]) {
    const std::optional<FingerprintRecord> record = read_record(entry);
    if (!record) {
      return Error{
          fmt::format("/tensors/{}: name, dtype, shape and a digest of 32 digits are expected", book.records.size())};
    }
    book.records.push_back(*record);
  }
  return book;
}

Result<FingerprintBook> read_map(const json& value) {
  FingerprintBook book;
  std::unordered_map<std::string, std::size_t> index_of;
  for (const auto& [map_name, hex] : value.items()) {
    if (!hex.is_string()) return Error{fmt::format("'{}' has a value that is no text", map_name)};
    const std::string tensor_name(name_in_map(map_name));
    const std::string text = hex.get<std::string>();
    const std::string digest = is_digest(text) ? text : "";
    const auto [entry, is_new] = index_of.try_emplace(tensor_name, book.records.size());
    if (is_new) {
      book.records.push_back({tensor_name, "", {}, digest});
    } else if (book.records[entry->second].digest != digest) {
      book.records[entry->second].digest.clear();  // values that differ by rank are not digests of the tensor
    }
  }
  return book;
}

std::optional<std::string_view> difference(const FingerprintRecord& a, const FingerprintRecord& b) {
  const bool both_typed = !a.dtype.empty() && !b.dtype.empty();
  if (both_typed && a.dtype != b.dtype) return "dtype";
  if (both_typed && a.shape != b.shape) return "shape";
  if (!a.digest.empty() && !b.digest.empty() && a.digest != b.digest) return "digest";
  return std::nullopt;
}

using RecordIndex = std::unordered_map<std::string_view, const FingerprintRecord*>;

RecordIndex index_records(const FingerprintBook& book) {
  RecordIndex index;
  for (const FingerprintRecord& record : book.records) index.emplace(record.name, &record);
  return index;
}

}  // namespace

ordered_json to_json(const FingerprintBook& book) {
  ordered_json tensors = ordered_json::array();
  for (const FingerprintRecord& record : book.records) {
    tensors.push_back(
        {{"name", record.name}, {"dtype", record.dtype}, {"shape", record.shape}, {"digest", record.digest}});
  }
  return {{"format", format_name}, {"version", 1}, {"key", book.key}, {"tensors", std::move(tensors)}};
}

ordered_json to_map_json(const FingerprintBook& book) {
  ordered_json map = ordered_json::object();
  for (const FingerprintRecord& record : book.records) map["0:0:0:0:" + record.name] = record.digest;
  return map;
}

Result<FingerprintBook> parse_fingerprint_book(std::string_view text) {
  if (std::ssize(text) > limits::max_text_bytes) return Error{"more text than a book of fingerprints may have"};
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object()) return Error{"not a JSON object"};
  const auto format = value.find("format");
  if (format == value.end()) return read_map(value);
  if (*format != json(format_name)) return Error{"a format this program does not know"};
  return read_book(value);
}

Result<std::vector<BookDifference>> compare(const FingerprintBook& first, const FingerprintBook& second) {
  if (!first.key.empty() && !second.key.empty() && first.key != second.key) {
    return Error{fmt::format("the keys differ ({} and {}), so the digests say nothing", first.key, second.key)};
  }
  std::vector<BookDifference> differences;
  const RecordIndex in_first = index_records(first);
  const RecordIndex in_second = index_records(second);
  for (const FingerprintRecord& record : first.records) {
    const auto other = in_second.find(record.name);
    if (other == in_second.end()) {
      differences.push_back({record.name, "only in the first"});
    } else if (const auto what = difference(record, *other->second)) {
      differences.push_back({record.name, std::string(*what)});
    }
  }
  for (const FingerprintRecord& record : second.records) {
    if (!in_first.contains(record.name)) differences.push_back({record.name, "only in the second"});
  }
  return differences;
}

}  // namespace reshardcheck
