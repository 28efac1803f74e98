// Calls of MPI whose failure is a value.
//
// Communicators of the mpi world return errors instead of aborting the process. RESHARDCHECK_MPI turns a call's code
// into a Status that says which expression failed, how, where, and on which rank.
#pragma once

#include <mpi.h>

#include <chrono>
#include <string>
#include <utility>

#include "core/layout/result.h"

#define RESHARDCHECK_MPI(call) ::reshardcheck::mpi_result((call), #call, __FILE__, __LINE__)

namespace reshardcheck {

Status mpi_result(int code, const char* expression, const char* file, int line);

/// The first call that failed in a world, after which the world is spent and calls no more.
class MpiFailure {
 public:
  /// True when the call went well.
  bool check(const Status& status) {
    if (!status.ok() && reason_.empty()) reason_ = status.error().reason;
    return status.ok();
  }
  void set(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }
  [[nodiscard]] bool any() const { return !reason_.empty(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

using MpiTime = std::chrono::steady_clock::time_point;

/// Lets other processes run; on a machine with fewer cores than ranks they are who we wait for.
void mpi_yield();

/// True when the request is complete (a null request is). Does not wait.
bool mpi_test(MPI_Request& request, MpiFailure& failure);

/// Tests until the request is complete, the time is up, or a call fails; true when it is complete.
bool mpi_complete(MPI_Request& request, MpiTime until, MpiFailure& failure);

/// The same, asleep most of the time once `patience` is over.
bool mpi_complete_asleep(MPI_Request& request, MpiTime until, MpiFailure& failure);

}  // namespace reshardcheck
