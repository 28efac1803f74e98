/* The C ABI of a subject: what a reshard implementation exports so that reshardcheck can judge it.
 *
 * Build a shared library that exports the six functions at the end of this header and run
 *
 *     reshardcheck run 'bf16[8,8] 2@0 S(0) -> 4@2 S(1)' --subject 'lib:./libmine.so?key=value'
 *
 * The header needs nothing but <stdint.h> and <stddef.h> and works from C and C++. core/subject/example/ holds a
 * complete subject in C. With CMake: find_package(reshardcheck COMPONENTS abi), link reshardcheck::abi.
 *
 * How a run goes. For every case, each rank opens a session, makes one reshard call per batch of tensors and refit,
 * and closes the session. All ranks of the world call, also those that hold no part of any tensor, with the same
 * tensors in the same order. A call may use any of the communication callbacks, or its own transport through the
 * raw handles where there are any. It writes the elements of the target tensors and nothing else (neither padding
 * nor gaps between rows), and it must be finished with all buffers when it returns, also when it fails.
 *
 * Threads. In the sim world every rank is a fiber of one thread, with a stack of 128 KiB, and only a callback lets
 * another rank go on: code that waits for other ranks in another way hangs there. In the threads world each rank is a
 * thread of its own; in the mpi world a process. A session is used by one rank only. State that a library keeps
 * outside of sessions is shared by all the ranks of its process, and lives on when the next case begins: a library
 * is never unloaded.
 *
 * Exceptions. The functions must not throw; an exception that gets out of them counts as a crash.
 *
 * Versions. The library says which version of this header it was built with, and only that version is taken. Within
 * a version, meanings never change and structs keep their members; reshardcheck_world, reshardcheck_options and
 * reshardcheck_capabilities may get new ones at their end, and struct_bytes says how far they go.
 */
#ifndef RESHARDCHECK_ABI_H
#define RESHARDCHECK_ABI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RESHARDCHECK_SUBJECT_EXPORT __attribute__((visibility("default")))
#else
#define RESHARDCHECK_SUBJECT_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define RESHARDCHECK_ABI_VERSION 1u

/* What a call came to. Any other value counts as an error. */
enum {
  RESHARDCHECK_DONE = 0,
  RESHARDCHECK_UNSUPPORTED = 1, /* on all ranks alike, with every buffer untouched */
  RESHARDCHECK_ERROR = 2        /* reshardcheck_subject_last_error() says why */
};

/* What a communication callback came to; anything but 0 means: wait for what is posted, then return
 * RESHARDCHECK_ERROR. After a failure waits return soon. */
enum {
  RESHARDCHECK_COMM_OK = 0,
  RESHARDCHECK_COMM_SIZE_MISMATCH = 1, /* message and receive buffer differ in bytes; the shorter length arrived */
  RESHARDCHECK_COMM_DEADLOCK = 2,      /* no rank can go on */
  RESHARDCHECK_COMM_DEADLINE = 3,      /* the time of the run is up */
  RESHARDCHECK_COMM_PEER_LOST = 4,     /* the other rank has died */
  RESHARDCHECK_COMM_KILLED = 5,        /* this rank was killed by an injected fault: return at once */
  RESHARDCHECK_COMM_BAD_ARGUMENT = 6   /* no such rank or request, no data, or not called from open or reshard */
};

enum { RESHARDCHECK_MEMORY_HOST = 0, RESHARDCHECK_MEMORY_CUDA = 1 };

enum { RESHARDCHECK_SUM = 0, RESHARDCHECK_MAXIMUM = 1, RESHARDCHECK_MINIMUM = 2 };

/* Element types, with their width in bytes. To a reshard only the width matters: it moves bytes. */
enum {
  RESHARDCHECK_I8 = 0,     /* 1 */
  RESHARDCHECK_U8 = 1,     /* 1 */
  RESHARDCHECK_F8E4M3 = 2, /* 1 */
  RESHARDCHECK_F8E5M2 = 3, /* 1 */
  RESHARDCHECK_I16 = 4,    /* 2 */
  RESHARDCHECK_U16 = 5,    /* 2 */
  RESHARDCHECK_F16 = 6,    /* 2 */
  RESHARDCHECK_BF16 = 7,   /* 2 */
  RESHARDCHECK_I32 = 8,    /* 4 */
  RESHARDCHECK_U32 = 9,    /* 4 */
  RESHARDCHECK_F32 = 10,   /* 4 */
  RESHARDCHECK_I64 = 11,   /* 8 */
  RESHARDCHECK_U64 = 12,   /* 8 */
  RESHARDCHECK_F64 = 13    /* 8 */
};

/* How one mesh axis splits a dim; the README has the table with examples. Axes that shard one dim compose left to
 * right. A subject that takes index ranges need not know any of this: intervals() has worked it out. */
enum {
  RESHARDCHECK_CHUNK = 0,    /* ceil(n/k) each, the rest shorter or empty */
  RESHARDCHECK_BALANCED = 1, /* the first n%k get one more; several axes on one dim act as one */
  RESHARDCHECK_EVEN = 2,     /* must divide */
  RESHARDCHECK_PADDED = 3,   /* rounded up to a multiple of `parameter`, then of k; equal local extents */
  RESHARDCHECK_CUTS = 4,     /* explicit `sizes`, one per coordinate */
  RESHARDCHECK_SEGMENTS = 5, /* `sizes` of the parts, each chunked by itself */
  RESHARDCHECK_STRIDED = 6   /* `parameter` chunks, each chunked over the axis, concatenated */
};

/* How the case asks for a tensor to travel: piece by piece, or gathered whole and broadcast. The result is the same. */
enum { RESHARDCHECK_PATH_RESHARD = 0, RESHARDCHECK_PATH_GATHER_BROADCAST = 1 };

/* What one mesh axis does to a tensor. dim is -1 where the axis replicates. */
typedef struct reshardcheck_placement {
  int32_t dim;
  int32_t rule;
  int64_t parameter;    /* padded, strided; otherwise 0 */
  const int64_t* sizes; /* cuts, segments: size_count entries */
  uint64_t size_count;
} reshardcheck_placement;

/* The global indices begin, begin + 1, ..., end - 1 of one dim. */
typedef struct reshardcheck_interval {
  int64_t begin;
  int64_t end;
} reshardcheck_interval;

/* The layout of one side: a row-major grid of distinct ranks and one placement per axis. A mesh index is a place in
 * `ranks`; its coordinate along the last axis varies fastest. */
typedef struct reshardcheck_side {
  uint32_t axes;
  uint32_t reserved;
  const int64_t* extents;                   /* axes entries */
  const int32_t* ranks;                     /* product of the extents entries */
  const reshardcheck_placement* placements; /* axes entries */
  const void* layout;                       /* for the intervals() callback */
} reshardcheck_side;

/* This rank's part of a tensor on one side. For a rank outside the mesh mesh_index is -1, and data, shape and strides
 * are NULL. The element with local indices i, j, ... lies at data + (i * strides[0] + j * strides[1] + ...) *
 * width_bytes. Real elements come first in every dim; what the padded rule adds is behind them. */
typedef struct reshardcheck_local {
  void* data;             /* the element with local index 0; nothing to read or write there when the part is empty */
  int64_t mesh_index;     /* in the ranks of the side */
  const int64_t* shape;   /* one per dim, elements; padded under the padded rule */
  const int64_t* strides; /* one per dim, elements; the last one is 1 */
} reshardcheck_local;

/* One tensor of a call. A tensor of 0 dims has one element. */
typedef struct reshardcheck_tensor {
  uint64_t struct_bytes;
  const char* name; /* never NULL, may be empty */
  int32_t dtype;
  int32_t width_bytes;
  int32_t path;
  uint32_t dims;        /* at most 8 */
  const int64_t* shape; /* global, one per dim */
  reshardcheck_side source;
  reshardcheck_side target;
  reshardcheck_local source_local; /* must not be written */
  reshardcheck_local target_local;
} reshardcheck_tensor;

/* The world as one rank sees it. The callbacks may be used during open and reshard only, on the thread that made the
 * call.
 *
 * Messages between an ordered pair of ranks match in the order in which they are posted; there are no tags. A posted
 * buffer must stay as it is until wait() returns. A send finishes when its receive has taken it: nothing is buffered,
 * so two ranks that both send() first wait for ever. A rank may send to itself. Every request must be waited for
 * before the call returns. Collectives run over all ranks of the world, which must call them in the same order. */
typedef struct reshardcheck_world {
  uint64_t struct_bytes;
  int32_t rank;
  int32_t world_ranks;
  int32_t memory_kind; /* where the tensors are */
  int32_t reserved;
  void* mpi_comm;    /* MPI_Comm* of the world's ranks, or NULL; may change from call to call */
  void* nccl_comm;   /* ncclComm_t, or NULL */
  void* cuda_stream; /* cudaStream_t, or NULL */
  void* context;     /* first argument of the callbacks */
  /* A request, or 0 when nothing could be posted; wait() on 0 gives RESHARDCHECK_COMM_BAD_ARGUMENT. */
  uint64_t (*post_send)(void* context, int32_t to, const void* data, uint64_t bytes);
  uint64_t (*post_receive)(void* context, int32_t from, void* data, uint64_t bytes);
  int (*wait)(void* context, uint64_t request);
  /* Post and wait in one. */
  int (*send)(void* context, int32_t to, const void* data, uint64_t bytes);
  int (*receive)(void* context, int32_t from, void* data, uint64_t bytes);
  int (*barrier)(void* context);
  int (*broadcast)(void* context, int32_t root, void* data, uint64_t bytes);
  int (*allreduce)(void* context, uint64_t* values, uint64_t count, int32_t reduction);
  /* What a mesh index owns of a dim, in local order: disjoint, ascending, none empty. Writes at most `capacity`
   * intervals and returns how many there are: 0 where it owns nothing, and where there is no such index or dim. `out`
   * may be NULL when capacity is 0. */
  uint64_t (*intervals)(const reshardcheck_side* side, uint64_t mesh_index, uint32_t dim, reshardcheck_interval* out,
                        uint64_t capacity);
} reshardcheck_world;

typedef struct reshardcheck_options {
  uint64_t struct_bytes;
  const char* text;      /* what stood behind '?' in --subject, or "" */
  int64_t domain_ranks;  /* ranks per fast-link domain; 0: all are one domain */
  int64_t domain_anchor; /* a rank at which a domain starts; domains are counted from it both ways */
  int64_t chunk_bytes;   /* the case asks to stage messages in pieces of at most this; 0: whole */
} reshardcheck_options;

/* What the subject takes. A case outside of it is reported as unsupported; should it run all the same, refuse it.
 * Zero in a maximum means no limit; masks have bit (1 << value) of the enumerations above. */
typedef struct reshardcheck_capabilities {
  uint64_t struct_bytes;
  uint32_t max_world_ranks;
  uint32_t max_dims;
  uint32_t max_axes;
  uint32_t rules;           /* mask of split rules; 0: replicated tensors only */
  uint32_t dtypes;          /* mask of dtypes, at least one */
  uint32_t memory_kinds;    /* mask of memory kinds, at least one */
  uint32_t paths;           /* mask of paths, at least one */
  uint32_t overlap;         /* 1: a rank may be in source and in target meshes */
  uint32_t strided_local;   /* 1: local tensors may have gaps between rows */
  uint32_t idle_ranks;      /* 1: ranks outside both meshes of a tensor may exist */
  uint32_t minimal_traffic; /* 1: promises that each piece enters a domain once; excess is a finding */
  uint32_t reserved;
} reshardcheck_capabilities;

/* --- what the library exports ------------------------------------------------------------------------------- */

/* RESHARDCHECK_ABI_VERSION of the header it was built with. */
RESHARDCHECK_SUBJECT_EXPORT uint32_t reshardcheck_subject_abi_version(void);

/* Fills in the capabilities; called once, when the library is loaded. The caller has set struct_bytes and everything
 * else to 0; write only members that lie within struct_bytes. */
RESHARDCHECK_SUBJECT_EXPORT void reshardcheck_subject_capabilities(reshardcheck_capabilities* capabilities);

/* Opens a session of this rank: RESHARDCHECK_DONE, or why not. `world` and `options` stay valid until close. *session
 * is NULL before the call; what it is set to goes into the calls below, also when open fails, which are then
 * last_error and close. A subject without state may leave it NULL: then last_error gets NULL, and close is not
 * called. */
RESHARDCHECK_SUBJECT_EXPORT int reshardcheck_subject_open(const reshardcheck_world* world,
                                                          const reshardcheck_options* options, void** session);

/* Delivers every tensor of the batch from its source to its target layout. Pointers are valid during the call. */
RESHARDCHECK_SUBJECT_EXPORT int reshardcheck_subject_reshard(void* session, const reshardcheck_tensor* tensors,
                                                             uint64_t tensor_count);

/* Ends the session. The communication callbacks are not available here, and in the sim and threads worlds one rank
 * closes after the other: wait for nobody. */
RESHARDCHECK_SUBJECT_EXPORT void reshardcheck_subject_close(void* session);

/* Why the last call on this session did not end as RESHARDCHECK_DONE, as one line; valid until the next call. It is
 * shown up to 400 bytes of printable ASCII. NULL: no reason is given. */
RESHARDCHECK_SUBJECT_EXPORT const char* reshardcheck_subject_last_error(void* session);

#ifdef __cplusplus
}
#endif

#endif /* RESHARDCHECK_ABI_H */
