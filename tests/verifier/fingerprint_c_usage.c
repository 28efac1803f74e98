/* The header as a C program uses it: one tensor whole, and in two halves by rows. Returns 0 when both agree. */
#include "verifier/fingerprint.h"

#include <string.h>

int fingerprint_from_c(void);

int fingerprint_from_c(void) {
  static const uint8_t secret[16] = {7, 7, 7};
  static const int64_t shape[2] = {4, 3};
  static const uint16_t elements[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  reshardcheck_fingerprint_state whole = {{0, 0}};
  reshardcheck_fingerprint_state halves = {{0, 0}};
  reshardcheck_fingerprint_shard shard = {0};
  char digests[2][33];
  int failures = 0;
  int32_t rank;
  reshardcheck_fingerprint_key* key = reshardcheck_fingerprint_key_new(secret);
  if (key == NULL) return -1;
  failures -= reshardcheck_fingerprint_add_bytes(key, &whole, 0, elements, sizeof elements, NULL);
  shard.dtype = "bf16";
  shard.dims = 2;
  shard.shape = shape;
  shard.layout = "2@0 S(0)";
  for (rank = 0; rank < 2; ++rank) {
    shard.rank = rank;
    shard.data = elements + 6 * rank;
    failures -= reshardcheck_fingerprint_add_shard(key, &halves, &shard, NULL, NULL);
  }
  failures -= reshardcheck_fingerprint_digest(key, &whole, "bf16", 2, shape, digests[0], NULL);
  failures -= reshardcheck_fingerprint_digest(key, &halves, "bf16", 2, shape, digests[1], NULL);
  reshardcheck_fingerprint_key_free(key);
  return failures == 0 ? strcmp(digests[0], digests[1]) : failures;
}
