// How much memory this process may still take: the machine's, its container's, and its own limit, the least counts.
#pragma once

#include <cstdint>

namespace reshardcheck::cli {

/// Bytes that can be allocated now without swapping or being killed; 2 GiB where the system does not say.
std::int64_t available_memory_bytes();

}  // namespace reshardcheck::cli
