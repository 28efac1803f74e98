// Features: what is particular about a case, as a few words.
//
// Two minimal cases with the same words most likely show the same bug, so findings are merged by them.
#pragma once

#include <string>

#include "core/layout/case.h"

namespace reshardcheck {

/// The features of a case, in a fixed order, separated by spaces: "cut-source same-dim balanced overlap chunk=".
/// Empty for one tensor that goes whole from one rank to another.
[[nodiscard]] std::string feature_words(const Case& value);

}  // namespace reshardcheck
