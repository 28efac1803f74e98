// A shell that waits for the end of its standard input, which nobody but this process holds the other end of. It leads
// a process group of its own, so that a Ctrl-C at the terminal does not reach it. Dismissing it is killing it: it does
// what it is there for only when it is left alone.
#include "core/subject/guardian.h"

#include <utility>

namespace reshardcheck {
namespace {

constexpr const char* script =
    "read -r nothing; exec 2>/dev/null; "
    "if [ -n \"$2\" ]; then rm -rf -- \"$2\"; fi; "
    "tenths=$(($3 * 10)); "
    "if [ $tenths -gt 0 ]; then kill -s TERM -- \"-$1\"; fi; "
    "while [ $tenths -gt 0 ] && kill -s 0 -- \"-$1\"; do sleep 0.1; tenths=$((tenths - 1)); done; "
    "kill -s KILL -- \"-$1\"";

}  // namespace

Guardian Guardian::watch(const ChildProcess& child, const std::string& folder, std::int64_t grace_seconds) {
  Guardian guardian;
  if (child.id() <= 0) return guardian;
  ChildOptions options;
  options.words = {
      "/bin/sh", "-c", script, "guardian", std::to_string(child.id()), folder, std::to_string(grace_seconds)};
  options.talk = true;
  Result<ChildProcess> started = ChildProcess::start(options);
  if (started) guardian.process_ = *std::move(started);
  return guardian;
}

}  // namespace reshardcheck
