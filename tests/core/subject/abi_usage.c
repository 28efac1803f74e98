/* The header as a C99 compiler sees it, for comparison with what it is in C++. */
#include "tests/core/subject/abi_layout.h"

int abi_layout_in_c(uint64_t* out);

int abi_layout_in_c(uint64_t* out) {
  const uint64_t layout[] = {ABI_LAYOUT};
  const int count = (int)(sizeof layout / sizeof layout[0]);
  int i;
  for (i = 0; i < count; ++i) out[i] = layout[i];
  return count;
}
