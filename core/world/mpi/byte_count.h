// ByteCount: how many bytes a message has, in the form in which MPI takes it.
//
// MPI 3 counts in ints. A longer message is one element of a derived type: many blocks of half the limit and a rest.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "core/world/mpi/mpi_call.h"

namespace reshardcheck {

class ByteCount {
 public:
  /// A failed call is noted in `failure`, and the count must not be used.
  ByteCount(std::size_t bytes, std::int64_t limit_bytes, MpiFailure& failure);
  /// The type may go as soon as the message was handed to MPI.
  ~ByteCount();
  ByteCount(const ByteCount&) = delete;
  ByteCount& operator=(const ByteCount&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

}  // namespace reshardcheck
