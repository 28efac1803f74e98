// ProcessSubject: a subject in any language, as a process that speaks JSON lines (process_protocol.h).
//
// "proc:COMMAND": the words of the command, split at blanks and quotes; no shell sees them. The processes start when
// they are first needed (all that a case needs at the same time, where it is prepared for), stay from case to case, and
// are started again after they have died, kept silent or written garbage. A process per rank talks to the other ranks
// through the world's endpoints, so that sim replays it; one process for all ranks gets the local tensors of all of
// them in one request.
//
// A death is reported as an exception (crash), silence as a deadline (hang), garbage as an error.
#pragma once

#include <memory>
#include <string_view>

#include "core/layout/result.h"
#include "core/subject/hosted_process.h"
#include "core/subject/subject.h"

namespace reshardcheck {

inline constexpr std::string_view process_subject_prefix = "proc:";

/// The subject of a name that starts with the prefix. Starts the first process, for its hello; an Error says in one
/// line why there is none.
Result<std::unique_ptr<Subject>> make_process_subject(std::string_view name, const ProcessOptions& options = {});

}  // namespace reshardcheck
