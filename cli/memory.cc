// /proc, the cgroup and the process limits, each where there is one.
#include "cli/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace reshardcheck::cli {
namespace {

std::optional<std::int64_t> free_of_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string rest;
  std::int64_t kibibytes = 0;
  while (file >> name >> kibibytes && std::getline(file, rest)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

/// The first number in a file; nothing when there is none ("max" means no limit).
std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> free_of_container() {
  const std::optional<std::int64_t> limit = number_in("/sys/fs/cgroup/memory.max");
  const std::optional<std::int64_t> used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::nullopt;
  return std::max<std::int64_t>(0, *limit - *used);
}

std::optional<std::int64_t> free_of_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const std::int64_t used = number_in("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  const auto bytes = static_cast<std::int64_t>(
      std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max())));
  return std::max<std::int64_t>(0, bytes - used);
}

}  // namespace

std::int64_t available_memory_bytes() {
  std::optional<std::int64_t> least;
  for (const std::optional<std::int64_t>& each : {free_of_machine(), free_of_container(), free_of_address_space()}) {
    if (each) least = std::min(least.value_or(*each), *each);
  }
  return least.value_or(std::int64_t{2} << 30);
}

}  // namespace reshardcheck::cli
