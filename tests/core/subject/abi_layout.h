/* What must not change in the structs of the C ABI: sizes, and the places of members. For compilers of both languages.
 */
#pragma once

#include <stddef.h>

#include "core/subject/abi.h"

/* clang-format off */
#define ABI_LAYOUT                                                                          \
  sizeof(reshardcheck_placement), sizeof(reshardcheck_interval), sizeof(reshardcheck_side), \
  sizeof(reshardcheck_local), sizeof(reshardcheck_tensor), sizeof(reshardcheck_world),      \
  sizeof(reshardcheck_options), sizeof(reshardcheck_capabilities),                          \
  offsetof(reshardcheck_tensor, source), offsetof(reshardcheck_tensor, target_local),       \
  offsetof(reshardcheck_world, post_send), offsetof(reshardcheck_world, intervals),         \
  offsetof(reshardcheck_options, chunk_bytes), offsetof(reshardcheck_capabilities, minimal_traffic)
/* clang-format on */
