/* The header as a C99 compiler sees it: the sizes and places of its members, for comparison with those of C++. */
#include "core/subject/abi.h"

int abi_layout_in_c(uint64_t* out);

int abi_layout_in_c(uint64_t* out) {
  const uint64_t layout[] = {sizeof(reshardcheck_placement),
                             sizeof(reshardcheck_interval),
                             sizeof(reshardcheck_side),
                             sizeof(reshardcheck_local),
                             sizeof(reshardcheck_tensor),
                             sizeof(reshardcheck_world),
                             sizeof(reshardcheck_options),
                             sizeof(reshardcheck_capabilities),
                             offsetof(reshardcheck_tensor, source),
                             offsetof(reshardcheck_tensor, target_local),
                             offsetof(reshardcheck_world, post_send),
                             offsetof(reshardcheck_world, intervals),
                             offsetof(reshardcheck_options, chunk_bytes),
                             offsetof(reshardcheck_capabilities, minimal_traffic)};
  const int count = (int)(sizeof layout / sizeof layout[0]);
  int i;
  for (i = 0; i < count; ++i) out[i] = layout[i];
  return count;
}
