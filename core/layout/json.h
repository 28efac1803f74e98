// JSON, the second face of a case. Same value, same limits, same validation as the notation.
//
//   {"tensors":[{"name":"gate","dtype":"bf16","shape":[8,8],"path":"reshard",
//                "source":{"mesh":[2],"ranks":[0,1],"placements":["S(0)"]},
//                "target":{"mesh":[4],"ranks":[2,3,4,5],"placements":["S(1)"]}}],
//    "options":{"domain":"2@4","fill":"digits","seed":7,...}}
//
// Options at their defaults are left out; "options" is left out when all are. Option values are the strings or
// numbers of the notation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/layout/case.h"

namespace reshardcheck {

/// A JSON value on one line. What is no UTF-8 in its texts (names, paths, what a subject printed) is replaced by
/// U+FFFD.
template <typename Json>
[[nodiscard]] std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

nlohmann::json to_json(const Case& value);

/// Who owns what, in mesh order: [{"rank":r,"local_shape":[...],"intervals":[[[begin,end],...], one list per dim]}].
/// An empty shard has [] for the dim that is empty; padding is in local_shape only.
nlohmann::ordered_json owners_to_json(const Layout& layout);

/// The case, or an Error whose reason names the JSON pointer at fault ("/tensors/0/source/mesh: ...").
Result<Case> case_from_json(const nlohmann::json& json);

/// Parses text that is JSON; the Error has the byte where the JSON itself is broken.
Result<Case> parse_case_json(std::string_view text);

}  // namespace reshardcheck
