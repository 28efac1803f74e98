// A verdict as JSON and back, without loss: what workers send and findings are kept as.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/layout/result.h"
#include "verifier/verdict.h"

namespace reshardcheck {

nlohmann::json verdict_to_json(const Verdict& verdict);
/// An Error when the JSON is no verdict.
Result<Verdict> verdict_from_json(const nlohmann::json& value);

}  // namespace reshardcheck
