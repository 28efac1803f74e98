// The words of a failed call, and the two ways to wait for a request.
#include "core/world/mpi/mpi_call.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include <string_view>
#include <thread>

namespace reshardcheck {

Status mpi_result(int code, const char* expression, const char* file, int line) {
  if (code == MPI_SUCCESS) return Ok{};
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  int rank = -1;
  if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) rank = -1;
  return Error{fmt::format("rank {}: {} failed with code {} ({}) at {}:{}", rank, expression, code,
                           std::string_view(text, static_cast<std::size_t>(length)), file, line)};
}

void mpi_yield() { sched_yield(); }

bool mpi_test(MPI_Request& request, MpiFailure& failure) {
  int flag = 0;
  return failure.check(RESHARDCHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE))) && flag != 0;
}

bool mpi_complete(MPI_Request& request, MpiTime until, MpiFailure& failure) {
  while (!mpi_test(request, failure)) {
    if (failure.any() || std::chrono::steady_clock::now() > until) return false;
    mpi_yield();
  }
  return true;
}

bool mpi_complete_asleep(MPI_Request& request, MpiTime until, MpiFailure& failure) {
  constexpr std::chrono::milliseconds patience(20);  // what comes at all comes within that, while cases are run
  constexpr std::chrono::microseconds nap(500);
  const MpiTime asleep = std::min(until, std::chrono::steady_clock::now() + patience);
  if (mpi_complete(request, asleep, failure)) return true;
  while (!failure.any() && !mpi_test(request, failure)) {
    if (failure.any() || std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(nap);
  }
  return !failure.any();
}

}  // namespace reshardcheck
