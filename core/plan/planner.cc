#include "core/plan/planner.h"
