/* Fingerprint: a digest of a distributed tensor that does not depend on how it is sharded.
 *
 * Every holder of a shard computes a state of 16 bytes from its own bytes; states are added up, in any order; the
 * sum and the tensor's dtype and shape give the digest. A trainer and a server with different layouts of one tensor
 * get the same digest, and never gather it. This header is the C interface; it needs nothing but C99.
 *
 * The function. Read the tensor row-major as one string of bytes and cut it into blocks of 2 KiB, each of 512
 * little-endian words of 32 bits; bytes that lie outside the tensor count as zero. With p = 2^61 - 1:
 *
 *     S[k](b)    = sum over words j of block b of  T[k][j] * word(b, j)            k = 0, 1, 2; T: 23 random bits
 *     mix[r](b)  = U[r][0][b0] * S[0](b) + U[r][1][b0] * S[1](b) + U[r][2][b0] * S[2](b)
 *     W[r](b)    = V[r][1][b1] * V[r][2][b2] * ... * V[r][6][b6]
 *     state[r]   = sum over blocks b of  W[r](b) * mix[r](b)  mod p                  r = 0, 1
 *
 * b0 .. b6 are the bytes of the block number. The entries of U and V are random modulo p, but for V[r][l][0] = 1.
 * dtype and shape are hashed by the same function at byte offset 2^63, where no tensor reaches. A word is the sum
 * of its bytes << 0, 8, 16, 24 and everything above is linear in the word, so contributions of any pieces, cut at
 * any byte, add up. S[k] is an exact integer: 512 * 2^23 * 2^32 = 2^64 bounds it.
 *
 * The bound. For any two tensors that differ in dtype, shape or a single bit, the chance over the key that their
 * digests are equal is below 2^-68.
 *   1. Some word of some block differs, by d with 0 < |d| < 2^32 < p. All other coefficients fixed, T[k][j] * d takes
 *      a given value modulo p for at most one T[k][j] of 2^23. So the differences of S[0], S[1] and S[2] of that block
 *      are all zero modulo p with chance at most 2^-69.
 *   2. Otherwise state[r] is built from a difference that is not zero by seven sums (b0, then b1 .. b6). Each is linear
 *      with independent random coefficients, or keeps the one term whose coefficient is 1, so each turns a
 *      difference that is not zero into zero with chance at most 2 / 2^61. Both r: at most (14 / 2^61)^2 < 2^-114.
 * The tables are expanded from the 128-bit key by ChaCha20, so the bound holds up to the chance of telling
 * ChaCha20 from random bits, for tensors that were not chosen knowing the key. It is not a signature: whoever knows the
 * key can make tensors that collide. Both sides must use the same key. */
#ifndef RESHARDCHECK_VERIFIER_FINGERPRINT_H
#define RESHARDCHECK_VERIFIER_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RESHARDCHECK_FINGERPRINT_EXPORT __attribute__((visibility("default")))
#else
#define RESHARDCHECK_FINGERPRINT_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Raised when a call changes its meaning; the function itself never changes. */
#define RESHARDCHECK_FINGERPRINT_VERSION 1

/** What a piece contributes: residues modulo 2^61 - 1. All zero before anything was added. */
typedef struct reshardcheck_fingerprint_state {
  uint64_t lane[2];
} reshardcheck_fingerprint_state;

/** The tables of a key, 48 KiB; read only after creation, so threads may share one. */
typedef struct reshardcheck_fingerprint_key reshardcheck_fingerprint_key;

/** Why a call failed, as one line. */
typedef struct reshardcheck_fingerprint_error {
  char reason[256];
} reshardcheck_fingerprint_error;

/** One rank's part of a tensor. Zero the struct, then set what applies. */
typedef struct reshardcheck_fingerprint_shard {
  const char* dtype;               /* "bf16", "f32", "u8", ...: the names of the case notation */
  size_t dims;                     /* of the whole tensor */
  const int64_t* shape;            /* of the whole tensor, `dims` entries */
  const char* layout;              /* mesh and placements, such as "2x2@0 S(0),R"; NULL: the whole tensor is here */
  int32_t rank;                    /* whose part this is; a rank outside the mesh contributes nothing */
  const void* data;                /* the element with local index 0, in host memory */
  const int64_t* strides_elements; /* of the local tensor, `dims` entries; NULL: dense */
  int64_t begin_element;           /* only global elements [begin, end), row-major; both 0: all */
  int64_t end_element;
  int32_t threads; /* at most this many; 0 or 1: the calling thread alone */
} reshardcheck_fingerprint_shard;

/** What add_shard found the rank to be. */
typedef struct reshardcheck_fingerprint_role {
  int64_t shard;   /* number of its shard among the distinct shards, row-major; -1: no part */
  int32_t replica; /* place within its replica group; 0 is the one that counts */
} reshardcheck_fingerprint_role;

/** Expands 16 bytes of key. NULL when memory runs out. Free with ..._key_free(). */
RESHARDCHECK_FINGERPRINT_EXPORT reshardcheck_fingerprint_key* reshardcheck_fingerprint_key_new(const uint8_t key[16]);
RESHARDCHECK_FINGERPRINT_EXPORT void reshardcheck_fingerprint_key_free(reshardcheck_fingerprint_key* key);

/** Adds bytes that stand at `offset_bytes` of the row-major tensor; any cut is fine. Offsets stay below 2^63.
 *  Returns 0, or -1 with the reason in `error` (which may be NULL) and the state untouched. */
RESHARDCHECK_FINGERPRINT_EXPORT int reshardcheck_fingerprint_add_bytes(const reshardcheck_fingerprint_key* key,
                                                                       reshardcheck_fingerprint_state* state,
                                                                       uint64_t offset_bytes, const void* data,
                                                                       size_t bytes,
                                                                       reshardcheck_fingerprint_error* error);

/** Adds a rank's part under its layout. Every rank may call it: with `role` NULL only replica 0 of a group adds, so
 *  that the sum over all ranks counts each element once. With `role` set every replica adds, and the caller decides:
 *  sum the states with replica == 0, and hold each other replica's state against it. */
RESHARDCHECK_FINGERPRINT_EXPORT int reshardcheck_fingerprint_add_shard(const reshardcheck_fingerprint_key* key,
                                                                       reshardcheck_fingerprint_state* state,
                                                                       const reshardcheck_fingerprint_shard* shard,
                                                                       reshardcheck_fingerprint_role* role,
                                                                       reshardcheck_fingerprint_error* error);

/** into += other. Associative and commutative. */
RESHARDCHECK_FINGERPRINT_EXPORT void reshardcheck_fingerprint_merge(reshardcheck_fingerprint_state* into,
                                                                    const reshardcheck_fingerprint_state* other);

/** The digest of a complete state: 32 hexadecimal digits and a terminating zero. */
RESHARDCHECK_FINGERPRINT_EXPORT int reshardcheck_fingerprint_digest(const reshardcheck_fingerprint_key* key,
                                                                    const reshardcheck_fingerprint_state* state,
                                                                    const char* dtype, size_t dims,
                                                                    const int64_t* shape, char hex[33],
                                                                    reshardcheck_fingerprint_error* error);

#ifdef __cplusplus
}
#endif

#endif
