// Cases against a limit on memory, before anything runs or is launched for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cli/input.h"

namespace reshardcheck::cli {

/// Why input is refused, and what to type instead; no hint where nothing on the command line helps.
struct Refusal {
  std::string reason;
  std::string hint;
};

/// The first case that needs more than `max_bytes`, with the place it has in the input.
std::optional<Refusal> refuse_sizes(std::span<const InputSequence> input, std::int64_t max_bytes);

}  // namespace reshardcheck::cli
