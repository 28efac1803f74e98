// Guardian: sees to it that a process that this one started does not outlive it.
//
// A destructor ends what was started when all goes well. A process that is killed runs no destructor: then it is its
// guardian, a small process of its own, that notices, kills the process group it was told to watch, and removes the
// folder that the two shared. This works whoever is killed, with whatever signal, and whatever the group ignores.
#pragma once

#include <cstdint>
#include <string>

#include "core/subject/child_process.h"

namespace reshardcheck {

class Guardian {
 public:
  /// Watches nothing.
  Guardian() = default;
  /// Watches the group of `child` on behalf of this process, until it is destroyed. When this process is gone, `folder`
  /// is removed with what is in it (empty: none), and the group gets SIGTERM and `grace_seconds` (0: neither), then
  /// SIGKILL. A guardian that cannot be started is none: what it guards against is rare.
  static Guardian watch(const ChildProcess& child, const std::string& folder, std::int64_t grace_seconds);

 private:
  ChildProcess process_;
};

}  // namespace reshardcheck
