/* A library that no build can use: it says that it speaks VERSION of the ABI, and exports nothing else. */
#include "core/subject/abi.h"

uint32_t reshardcheck_subject_abi_version(void) { return VERSION; }
