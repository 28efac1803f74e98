// Capabilities: what a subject behind the C ABI says it takes, held against cases.
#pragma once

#include <optional>
#include <string>

#include "core/layout/case.h"
#include "core/layout/result.h"
#include "core/subject/abi.h"

namespace reshardcheck {

/// Error when they name nothing that could ever run: no dtype, no memory kind or no path.
Status check_capabilities(const reshardcheck_capabilities& capabilities);

/// The first thing in a case that lies outside of the capabilities, as one line, or nothing. The memory kind is the
/// world's and no part of a case.
std::optional<std::string> outside_of(const reshardcheck_capabilities& capabilities, const Case& value);

}  // namespace reshardcheck
