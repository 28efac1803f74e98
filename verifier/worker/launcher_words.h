// What a launcher prints about the end of a rank or of a host, as one sentence.
//
// mpirun says who died in lines with process numbers, host names and advice, which differ from run to run and hide the
// one fact that a verdict needs. Verdicts of one case are to be the same text every time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reshardcheck {

/// "rank 2 was killed by signal 11 (Segmentation fault) under mpirun", or "mpirun lost the connection to host far",
/// from what Open MPI's mpirun printed at the end; nothing when it says neither.
std::optional<std::string> fate_of_ranks(std::string_view output);

}  // namespace reshardcheck
