// Reading trusts nothing: a line is bounded by the channel, nesting is bounded while it is parsed, and every number is
// held against its range before it is used.
#include "core/subject/process_protocol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/layout/json.h"
#include "core/layout/printable.h"
#include "core/subject/capabilities.h"

namespace reshardcheck {
namespace {

using nlohmann::json;

constexpr std::size_t max_quoted_bytes = 160;  // of a line that cannot be read
constexpr std::size_t max_reason_bytes = 400;  // of what the process gives as its reason

Error unreadable(std::string_view what, std::string_view line) {
  return Error{fmt::format("{}: '{}'", what, printable(line, max_quoted_bytes))};
}

/// The object of a line, or a discarded value.
json parse_object(std::string_view line) {
  constexpr int most_depth = 6;
  const json::parser_callback_t shallow = [](int depth, json::parse_event_t, json&) { return depth <= most_depth; };
  json value = json::parse(line, shallow, false);
  return value.is_object() ? value : json(json::value_t::discarded);
}

const json* member(const json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

/// The integer of that name within [0, most].
std::optional<std::int64_t> number_member(const json& value, const char* key, std::int64_t most) {
  const json* found = member(value, key);
  if (found == nullptr || !found->is_number_unsigned()) return std::nullopt;
  const auto result = found->get<std::uint64_t>();
  if (result > static_cast<std::uint64_t>(most)) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

// --- hello ----------------------------------------------------------------------------------------------------------

Status read_limit(const json& value, const char* key, std::uint32_t& limit) {
  if (member(value, key) == nullptr) return Ok{};
  const auto found = number_member(value, key, UINT32_MAX);
  if (!found) return Error{fmt::format("{} is no number", key)};
  limit = static_cast<std::uint32_t>(*found);
  return Ok{};
}

Status read_flag(const json& value, const char* key, std::uint32_t& flag) {
  const json* found = member(value, key);
  if (found == nullptr) return Ok{};
  if (!found->is_boolean()) return Error{fmt::format("{} is neither true nor false", key)};
  flag = found->get<bool>() ? 1 : 0;
  return Ok{};
}

/// A list of names, each of which is name() of one of the enumerators.
template <typename Enumerators>
Status read_names(const json& value, const char* key, const Enumerators& all, std::uint32_t& mask) {
  for (const auto each : all) mask |= std::uint32_t{1} << static_cast<unsigned>(each);
  const json* found = member(value, key);
  if (found == nullptr) return Ok{};
  if (!found->is_array()) return Error{fmt::format("{} is no list of names", key)};
  mask = 0;
  for (const json& word : *found) {
    std::uint32_t bit = 0;
    for (const auto each : all) {
      if (word.is_string() && word.get_ref<const std::string&>() == name(each)) {
        bit = std::uint32_t{1} << static_cast<unsigned>(each);
      }
    }
    if (bit == 0)
      return Error{fmt::format("{} holds {}, which is none", key, printable(json_line(word), max_quoted_bytes))};
    mask |= bit;
  }
  return Ok{};
}

Status read_capabilities(const json& value, reshardcheck_capabilities& capabilities) {
  if (!value.is_object()) return Error{"capabilities are no object"};
  constexpr Path all_paths[] = {Path::reshard, Path::gather_broadcast};
  capabilities.struct_bytes = sizeof(capabilities);
  capabilities.memory_kinds = 1U << RESHARDCHECK_MEMORY_HOST;
  capabilities.overlap = capabilities.strided_local = capabilities.idle_ranks = 1;
  for (const Status& status :
       {read_limit(value, "max_world_ranks", capabilities.max_world_ranks),
        read_limit(value, "max_dims", capabilities.max_dims), read_limit(value, "max_axes", capabilities.max_axes),
        read_names(value, "rules", all_rules, capabilities.rules),
        read_names(value, "dtypes", all_dtypes, capabilities.dtypes),
        read_names(value, "paths", all_paths, capabilities.paths), read_flag(value, "overlap", capabilities.overlap),
        read_flag(value, "strided_local", capabilities.strided_local),
        read_flag(value, "idle_ranks", capabilities.idle_ranks),
        read_flag(value, "minimal_traffic", capabilities.minimal_traffic)}) {
    if (!status) return status;
  }
  return check_capabilities(capabilities);
}

// --- answers --------------------------------------------------------------------------------------------------------

std::optional<FileMessage> read_message(const json& value) {
  const json* const send = member(value, "send");
  const json* const body = send != nullptr ? send : member(value, "receive");
  if (body == nullptr) return std::nullopt;
  const auto peer = number_member(*body, send != nullptr ? "to" : "from", INT32_MAX);
  const auto offset = number_member(*body, "offset", INT64_MAX);
  const auto bytes = number_member(*body, "bytes", INT64_MAX);
  if (!peer || !offset || !bytes) return std::nullopt;
  return FileMessage{send != nullptr, static_cast<Rank>(*peer), *offset, *bytes};
}

/// The messages of a send, a receive or an exchange; nothing when it is none, or one of them cannot be read.
std::optional<std::vector<FileMessage>> read_messages(const json& value) {
  std::vector<FileMessage> messages;
  const json* const exchange = member(value, "exchange");
  if (exchange != nullptr && !exchange->is_array()) return std::nullopt;
  for (const json& each : exchange != nullptr ? *exchange : json::array({value})) {
    const std::optional<FileMessage> message = read_message(each);
    if (!message) return std::nullopt;
    messages.push_back(*message);
  }
  return messages;
}

std::string reason_of(const json& value) {
  std::string reason = printable(value.is_string() ? value.get<std::string>() : json_line(value), max_reason_bytes);
  return reason.empty() ? "the subject gives no reason" : reason;
}

json layout_json(std::size_t number, const Layout& layout) {
  json placements = json::array();
  for (const Placement& placement : layout.placements()) placements.push_back(placement.text());
  return {{"number", number},
          {"mesh", layout.mesh().extents()},
          {"placements", std::move(placements)},
          {"ranks", owners_to_json(layout)}};
}

json local_json(const FileTensor& each) {
  return {{"rank", each.rank},           {"side", each.is_target ? "target" : "source"},
          {"offset", each.offset_bytes}, {"bytes", each.size_bytes},
          {"shape", each.local->shape},  {"strides", each.local->strides}};
}

}  // namespace

Result<Hello> read_hello(std::string_view line) {
  const json value = parse_object(line);
  const json* const body = member(value, "hello");
  if (body == nullptr) return unreadable("the process did not say hello but", line);
  const auto abi = number_member(*body, "abi", INT32_MAX);
  if (abi != std::int64_t{RESHARDCHECK_ABI_VERSION}) {
    return unreadable(fmt::format("the hello's abi is not {}", RESHARDCHECK_ABI_VERSION), line);
  }
  const json* const hosts = member(*body, "hosts");
  Hello hello;
  if (hosts != nullptr && *hosts == "all") {
    hello.hosts_all_ranks = true;
  } else if (hosts == nullptr || *hosts != "one") {
    return unreadable("the hello's hosts is neither 'one' nor 'all'", line);
  }
  const json* const capabilities = member(*body, "capabilities");
  const Status read = read_capabilities(capabilities != nullptr ? *capabilities : json::object(), hello.capabilities);
  if (!read) return unreadable("in the hello: " + read.error().reason, line);
  return hello;
}

Result<Answer> read_answer(std::string_view line) {
  const json value = parse_object(line);
  if (value.is_discarded()) return unreadable("the process wrote what is no answer", line);
  int answers = 0;
  for (const char* const key : {"done", "unsupported", "error", "barrier", "exchange", "send", "receive"}) {
    answers += member(value, key) != nullptr ? 1 : 0;
  }
  if (answers > 1) return unreadable("the process wrote two answers at once", line);
  if (const json* done = member(value, "done"); done != nullptr && *done == true) return Answer{};
  if (const json* why = member(value, "unsupported")) return Answer{AnswerKind::unsupported, reason_of(*why), {}};
  if (const json* why = member(value, "error")) return Answer{AnswerKind::error, reason_of(*why), {}};
  if (member(value, "barrier") != nullptr) return Answer{AnswerKind::barrier, {}, {}};
  std::optional<std::vector<FileMessage>> messages = read_messages(value);
  if (!messages) return unreadable("the process wrote what is no answer", line);
  return Answer{AnswerKind::exchange, {}, *std::move(messages)};
}

// --- requests -------------------------------------------------------------------------------------------------------

std::size_t LayoutNumbers::number_of(const Layout& layout, json& told) {
  const auto [place, is_new] =
      numbers_.emplace(fmt::format("{} {}", fmt::join(layout.shape(), ","), layout.text()), numbers_.size());
  if (is_new) told.push_back(layout_json(place->second, layout));
  return place->second;
}

std::string open_request(Rank rank, Rank world_ranks, const SessionOptions& options) {
  json body = {{"world_ranks", world_ranks},
               {"domain_ranks", options.topology.domain_ranks},
               {"domain_anchor", options.topology.anchor},
               {"chunk_bytes", options.chunk_bytes}};
  if (rank >= 0) body["rank"] = rank;
  return json_line(json{{"open", std::move(body)}});
}

std::string reshard_request(std::string_view path, const FilePlan& plan, std::span<const BatchTensor> tensors,
                            LayoutNumbers& numbers) {
  json layouts = json::array();
  json list = json::array();
  for (const BatchTensor& tensor : tensors) {
    const TensorCase& spec = *tensor.spec;
    list.push_back({{"name", spec.name},
                    {"dtype", name(spec.dtype)},
                    {"width_bytes", width_bytes(spec.dtype)},
                    {"shape", spec.shape()},
                    {"path", name(spec.path)},
                    {"source", numbers.number_of(spec.source, layouts)},
                    {"target", numbers.number_of(spec.target, layouts)},
                    {"locals", json::array()}});
  }
  for (const FileTensor& each : plan.tensors) list[each.tensor]["locals"].push_back(local_json(each));
  const json body = {{"file", path},
                     {"file_bytes", plan.end_bytes()},
                     {"scratch", {{"offset", plan.scratch_offset_bytes}, {"bytes", plan.scratch_bytes}}},
                     {"layouts", std::move(layouts)},
                     {"tensors", std::move(list)}};
  return json_line(json{{"reshard", body}});
}

std::string close_request() { return R"({"close":{}})"; }

std::string network_reply(CommStatus status) {
  return status == CommStatus::ok ? R"({"ok":true})" : fmt::format(R"({{"failed":"{}"}})", name(status));
}

}  // namespace reshardcheck
