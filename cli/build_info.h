// What this binary is: version, compiler, kind of build.
#pragma once

#include <string>

namespace reshardcheck::cli {

/// "0.1.0".
std::string version();

/// "0.1.0 (gcc 12.2.0, release)".
std::string build_description();

}  // namespace reshardcheck::cli
