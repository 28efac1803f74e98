// Runs cases in worker processes: a subject may crash, hang, exit or scribble over its memory there, and each of these
// is a verdict.
#pragma once

#include "verifier/runner.h"
#include "verifier/worker/group.h"

namespace reshardcheck {

/// Runners that share groups of workers while they live one after the other: a group is handed on when a runner ends.
/// Runners that live at the same time have a group each.
MakeRunner worker_runners(const WorkerOptions& options);

}  // namespace reshardcheck
