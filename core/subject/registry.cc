#include "core/subject/registry.h"
