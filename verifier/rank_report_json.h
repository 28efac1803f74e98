// Rank reports as text, for worlds whose ranks are in many processes: each packs what its ranks saw, all unpack it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/result.h"
#include "verifier/rank_report.h"

namespace reshardcheck {

std::string pack_reports(std::span<const RankReport> reports);
/// An Error when the text is no such thing.
Result<std::vector<RankReport>> unpack_reports(std::string_view text);

}  // namespace reshardcheck
