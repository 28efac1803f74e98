// Blocks of half the limit keep the number of blocks small and every int far from its end.
#include "core/world/mpi/byte_count.h"

namespace reshardcheck {

ByteCount::ByteCount(std::size_t bytes, std::int64_t limit_bytes, MpiFailure& failure) {
  if (bytes <= static_cast<std::size_t>(limit_bytes)) {
    count_ = static_cast<int>(bytes);
    return;
  }
  const std::size_t block_bytes = static_cast<std::size_t>(limit_bytes) / 2 + 1;
  const std::size_t whole_bytes = bytes / block_bytes * block_bytes;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  if (!failure.check(RESHARDCHECK_MPI(MPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &block)))) return;
  const int lengths[] = {static_cast<int>(bytes / block_bytes), static_cast<int>(bytes - whole_bytes)};
  const MPI_Aint offsets[] = {0, static_cast<MPI_Aint>(whole_bytes)};
  const MPI_Datatype types[] = {block, MPI_BYTE};
  MPI_Datatype message = MPI_DATATYPE_NULL;
  if (failure.check(RESHARDCHECK_MPI(MPI_Type_create_struct(2, lengths, offsets, types, &message)))) {
    failure.check(RESHARDCHECK_MPI(MPI_Type_commit(&message)));
    type_ = message;
    count_ = 1;
  }
  failure.check(RESHARDCHECK_MPI(MPI_Type_free(&block)));
}

ByteCount::~ByteCount() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);
}

}  // namespace reshardcheck
