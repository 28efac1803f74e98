#include "core/world/world.h"

namespace reshardcheck {

std::string_view name(CommStatus status) {
  constexpr std::string_view names[] = {"ok",        "size_mismatch", "deadlock",    "deadline",
                                        "peer_lost", "killed",        "bad_argument"};
  return names[static_cast<std::size_t>(status)];
}

}  // namespace reshardcheck
