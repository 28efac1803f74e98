// Two processes, a trainer with rows and a server with columns of the same tensor, agree after exchanging 16 bytes.
//
// Goal: no gather, whatever the size. Method: each process makes the shards of its side, one after the other, from a
// pure function of the element's index, through the C interface; then one bit of the server's tensor flips, and they
// disagree.
//
//   mpirun -np 2 fingerprint_exchange [ROWS COLUMNS]      of bf16; exits 0 when all is as it must be
#define OMPI_SKIP_MPICXX 1  // the C++ bindings of old do not compile without warnings
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "verifier/fingerprint.h"

namespace {

struct Block {
  std::int64_t first_row, rows, first_column, columns;
};

std::uint16_t element(std::int64_t index) {
  return static_cast<std::uint16_t>((static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u) >> 48);
}

std::vector<std::uint16_t> make_shard(const Block& block, std::int64_t all_columns) {
  std::vector<std::uint16_t> shard(static_cast<std::size_t>(block.rows * block.columns));
  std::uint16_t* out = shard.data();
  for (std::int64_t row = 0; row < block.rows; ++row) {
    const std::int64_t base = (block.first_row + row) * all_columns + block.first_column;
    for (std::int64_t column = 0; column < block.columns; ++column) *out++ = element(base + column);
  }
  return shard;
}

/// The state of one side, shard by shard. `wrong` flips a bit of the last shard.
reshardcheck_fingerprint_state side_state(const reshardcheck_fingerprint_key* key, const std::int64_t (&shape)[2],
                                          bool rows, bool wrong) {
  reshardcheck_fingerprint_state state = {{0, 0}};
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::int64_t half = shape[rows ? 0 : 1] / 2;
    const Block block = rows ? Block{rank * half, half, 0, shape[1]} : Block{0, shape[0], rank * half, half};
    std::vector<std::uint16_t> memory = make_shard(block, shape[1]);
    if (wrong && rank == 1) memory.back() ^= 1;
    reshardcheck_fingerprint_shard shard = {};
    shard.dtype = "bf16";
    shard.dims = 2;
    shard.shape = shape;
    shard.layout = rows ? "2@0 S(0)" : "2@0 S(1)";
    shard.rank = rank;
    shard.data = memory.data();
    reshardcheck_fingerprint_error error = {};
    if (reshardcheck_fingerprint_add_shard(key, &state, &shard, nullptr, &error) != 0) {
      std::fprintf(stderr, "fingerprint_exchange: %s\n", error.reason);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  return state;
}

/// Whether the other process has the same state: 16 bytes each way.
bool agrees(const reshardcheck_fingerprint_state& mine, int other) {
  static_assert(sizeof mine <= 64);
  reshardcheck_fingerprint_state theirs = {{0, 0}};
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, other, 0, &theirs, sizeof theirs, MPI_BYTE, other, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return std::memcmp(&mine, &theirs, sizeof mine) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int process = 0;
  int processes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const std::int64_t shape[2] = {argc > 2 ? std::atoll(argv[1]) : 16'384, argc > 2 ? std::atoll(argv[2]) : 32'768};
  if (processes != 2 || shape[0] % 2 != 0 || shape[1] % 2 != 0) {
    std::fprintf(stderr, "fingerprint_exchange: needs two processes and even extents\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const std::uint8_t secret[16] = {42};
  reshardcheck_fingerprint_key* key = reshardcheck_fingerprint_key_new(secret);
  const bool trainer = process == 0;
  const bool same = agrees(side_state(key, shape, trainer, false), 1 - process);
  const bool seen = !agrees(side_state(key, shape, trainer, !trainer), 1 - process);
  reshardcheck_fingerprint_key_free(key);
  std::printf("%s: layouts %s, a flipped bit was %s\n", trainer ? "trainer" : "server", same ? "agree" : "DISAGREE",
              seen ? "seen" : "MISSED");
  MPI_Finalize();
  return same && seen ? 0 : 1;
}
