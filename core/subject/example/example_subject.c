/* A complete subject in C: one replica of every source shard sends each target rank the part that it needs.
 *
 *     cmake -S . -B build -DCMAKE_PREFIX_PATH=/where/reshardcheck/is/installed && cmake --build build
 *     reshardcheck fuzz --seconds 60 --subject 'lib:build/libexample_subject.so'
 *
 * It never asks which rule split a dim: the intervals() callback says what each mesh index owns, the intersection of
 * two such lists, dim by dim, is a box, and a message holds the elements of a box in ascending order of their
 * global indices. Tensors go one after another; for each, everything is posted before anything is waited for.
 *
 * The option `replica=last` sends from the last replica of each shard instead of the first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/subject/abi.h"

#define MAX_DIMS 8

typedef struct session {
  const reshardcheck_world* world;
  int from_last_replica;
  char error[160];
} session;

/* Consecutive indices of one dim that source and target share: where they lie in each local tensor. */
typedef struct run {
  int64_t source_offset;
  int64_t target_offset;
  int64_t length;
} run;

/* What one source rank has for one target rank. */
typedef struct box {
  run* runs[MAX_DIMS];
  size_t counts[MAX_DIMS];
  int64_t elements;
} box;

/* A posted box, with the bytes that travel. The messages of a tensor are a list. */
typedef struct message {
  struct message* next;
  box what;
  char* bytes;
  uint64_t request;
  int is_receive;
} message;

static int fail(session* self, const char* why) {
  snprintf(self->error, sizeof self->error, "%s", why);
  return RESHARDCHECK_ERROR;
}

/* --- which elements --------------------------------------------------------------------------------------------- */

static int64_t mesh_size(const reshardcheck_side* side) {
  int64_t size = 1;
  uint32_t axis;
  for (axis = 0; axis < side->axes; ++axis) size *= side->extents[axis];
  return size;
}

/* Ranks that differ only along axes that replicate hold the same; one of them sends. */
static int speaks_for_its_replicas(const session* self, const reshardcheck_side* side, int64_t index) {
  uint32_t axis;
  for (axis = side->axes; axis-- > 0;) {
    const int64_t extent = side->extents[axis];
    const int64_t speaker = self->from_last_replica ? extent - 1 : 0;
    if (side->placements[axis].dim < 0 && index % extent != speaker) return 0;
    index /= extent;
  }
  return 1;
}

/* All intervals of a mesh index, to be freed; NULL without memory. */
static reshardcheck_interval* owned(const session* self, const reshardcheck_side* side, int64_t index, uint32_t dim,
                                    size_t* count) {
  reshardcheck_interval* list;
  *count = (size_t)self->world->intervals(side, (uint64_t)index, dim, NULL, 0);
  list = malloc((*count + 1) * sizeof *list);
  if (list != NULL) self->world->intervals(side, (uint64_t)index, dim, list, *count);
  return list;
}

/* Merges two ascending lists into the runs that both have; returns the elements in them. */
static int64_t intersect(const reshardcheck_interval* source, size_t sources, const reshardcheck_interval* target,
                         size_t targets, run* runs, size_t* count) {
  int64_t source_offset = 0, target_offset = 0, elements = 0;
  size_t i = 0, j = 0;
  *count = 0;
  while (i < sources && j < targets) {
    const int64_t begin = source[i].begin > target[j].begin ? source[i].begin : target[j].begin;
    const int64_t end = source[i].end < target[j].end ? source[i].end : target[j].end;
    if (begin < end) {
      runs[*count].source_offset = source_offset + begin - source[i].begin;
      runs[*count].target_offset = target_offset + begin - target[j].begin;
      runs[*count].length = end - begin;
      elements += end - begin;
      ++*count;
    }
    if (source[i].end == end) {
      source_offset += source[i].end - source[i].begin;
      ++i;
    } else {
      target_offset += target[j].end - target[j].begin;
      ++j;
    }
  }
  return elements;
}

static void free_box(box* what) {
  uint32_t dim;
  for (dim = 0; dim < MAX_DIMS; ++dim) free(what->runs[dim]);
  memset(what, 0, sizeof *what);
}

/* What a source mesh index has for a target mesh index; elements is 0 for nothing. Returns 0 without memory. */
static int find_box(const session* self, const reshardcheck_tensor* tensor, int64_t source_index, int64_t target_index,
                    box* what) {
  uint32_t dim;
  memset(what, 0, sizeof *what);
  what->elements = 1;
  for (dim = 0; dim < tensor->dims && what->elements > 0; ++dim) {
    size_t sources, targets;
    reshardcheck_interval* source = owned(self, &tensor->source, source_index, dim, &sources);
    reshardcheck_interval* target = owned(self, &tensor->target, target_index, dim, &targets);
    what->runs[dim] = malloc((sources + targets + 1) * sizeof(run));
    if (source != NULL && target != NULL && what->runs[dim] != NULL) {
      what->elements *= intersect(source, sources, target, targets, what->runs[dim], &what->counts[dim]);
    } else {
      what->elements = -1;
    }
    free(source);
    free(target);
  }
  return what->elements >= 0;
}

/* --- moving them ------------------------------------------------------------------------------------------------ */

/* Moves the part of a box from `dim` on between a local tensor at `data` and the bytes of a message; returns where in
 * the message the next part is. */
static char* move(const reshardcheck_tensor* tensor, const message* each, uint32_t dim, char* data, char* bytes) {
  const reshardcheck_local* local = each->is_receive ? &tensor->target_local : &tensor->source_local;
  const size_t width = (size_t)tensor->width_bytes;
  size_t i;
  int64_t k;
  if (dim == tensor->dims) { /* only a tensor of 0 dims gets here */
    memcpy(each->is_receive ? data : bytes, each->is_receive ? bytes : data, width);
    return bytes + width;
  }
  for (i = 0; i < each->what.counts[dim]; ++i) {
    const run* part = &each->what.runs[dim][i];
    const int64_t step = local->strides[dim] * tensor->width_bytes;
    char* place = data + (each->is_receive ? part->target_offset : part->source_offset) * step;
    if (dim + 1 == tensor->dims) { /* the last stride is 1 */
      const size_t size = (size_t)part->length * width;
      memcpy(each->is_receive ? place : bytes, each->is_receive ? bytes : place, size);
      bytes += size;
    } else {
      for (k = 0; k < part->length; ++k) bytes = move(tensor, each, dim + 1, place + k * step, bytes);
    }
  }
  return bytes;
}

/* Posts what goes from a source to a target mesh index, when it is something, and puts it in front of the list.
 * Returns 0 without memory. */
static int post(session* self, const reshardcheck_tensor* tensor, const int64_t pair[2], int is_receive,
                message** list) {
  const reshardcheck_world* world = self->world;
  const uint64_t width = (uint64_t)tensor->width_bytes;
  message* each = calloc(1, sizeof *each);
  if (each == NULL) return 0;
  each->is_receive = is_receive;
  if (find_box(self, tensor, pair[0], pair[1], &each->what) && each->what.elements > 0) {
    each->bytes = malloc((size_t)each->what.elements * (size_t)width);
  }
  if (each->bytes == NULL) {
    const int nothing_to_do = each->what.elements == 0;
    free_box(&each->what);
    free(each);
    return nothing_to_do;
  }
  if (is_receive) {
    each->request = world->post_receive(world->context, tensor->source.ranks[pair[0]], each->bytes,
                                        (uint64_t)each->what.elements * width);
  } else {
    move(tensor, each, 0, tensor->source_local.data, each->bytes);
    each->request = world->post_send(world->context, tensor->target.ranks[pair[1]], each->bytes,
                                     (uint64_t)each->what.elements * width);
  }
  each->next = *list;
  *list = each;
  return 1;
}

/* Waits for all messages, also after one has failed, because they may use their buffers until then. */
static int finish(session* self, const reshardcheck_tensor* tensor, message* list) {
  int result = RESHARDCHECK_DONE;
  while (list != NULL) {
    message* each = list;
    const int status = self->world->wait(self->world->context, each->request);
    list = each->next;
    if (status != RESHARDCHECK_COMM_OK) {
      result = fail(self, each->is_receive ? "a receive failed" : "a send failed");
    } else if (each->is_receive) {
      move(tensor, each, 0, tensor->target_local.data, each->bytes);
    }
    free_box(&each->what);
    free(each->bytes);
    free(each);
  }
  return result;
}

static int deliver(session* self, const reshardcheck_tensor* tensor) {
  const int64_t sources = mesh_size(&tensor->source);
  const int64_t targets = mesh_size(&tensor->target);
  message* list = NULL;
  int enough_memory = 1, result;
  int64_t pair[2]; /* source and target mesh index */
  if (tensor->dims > MAX_DIMS) return fail(self, "more dims than this subject takes");
  if (tensor->target_local.mesh_index >= 0) {
    pair[1] = tensor->target_local.mesh_index;
    for (pair[0] = 0; pair[0] < sources && enough_memory; ++pair[0]) {
      if (!speaks_for_its_replicas(self, &tensor->source, pair[0])) continue;
      enough_memory = post(self, tensor, pair, 1, &list);
    }
  }
  pair[0] = tensor->source_local.mesh_index;
  if (pair[0] >= 0 && speaks_for_its_replicas(self, &tensor->source, pair[0])) {
    for (pair[1] = 0; pair[1] < targets && enough_memory; ++pair[1]) {
      enough_memory = post(self, tensor, pair, 0, &list);
    }
  }
  result = finish(self, tensor, list);
  return enough_memory ? result : fail(self, "not enough memory");
}

/* --- the six functions ------------------------------------------------------------------------------------------ */

uint32_t reshardcheck_subject_abi_version(void) { return RESHARDCHECK_ABI_VERSION; }

void reshardcheck_subject_capabilities(reshardcheck_capabilities* capabilities) {
  capabilities->max_dims = MAX_DIMS;
  capabilities->rules = ~0u; /* whatever the rule: intervals() knows it */
  capabilities->dtypes = ~0u;
  capabilities->memory_kinds = 1u << RESHARDCHECK_MEMORY_HOST;
  capabilities->paths = 1u << RESHARDCHECK_PATH_RESHARD | 1u << RESHARDCHECK_PATH_GATHER_BROADCAST;
  capabilities->overlap = 1;
  capabilities->strided_local = 1;
  capabilities->idle_ranks = 1;
}

int reshardcheck_subject_open(const reshardcheck_world* world, const reshardcheck_options* options, void** opened) {
  session* self = calloc(1, sizeof *self);
  *opened = self;
  if (self == NULL) return RESHARDCHECK_ERROR;
  self->world = world;
  self->from_last_replica = strcmp(options->text, "replica=last") == 0;
  if (!self->from_last_replica && options->text[0] != '\0') return fail(self, "the only option is replica=last");
  return RESHARDCHECK_DONE;
}

int reshardcheck_subject_reshard(void* opened, const reshardcheck_tensor* tensors, uint64_t tensor_count) {
  uint64_t i;
  for (i = 0; i < tensor_count; ++i) {
    const int result = deliver(opened, &tensors[i]);
    if (result != RESHARDCHECK_DONE) return result;
  }
  return RESHARDCHECK_DONE;
}

void reshardcheck_subject_close(void* opened) { free(opened); }

const char* reshardcheck_subject_last_error(void* opened) {
  return opened == NULL ? "not enough memory" : ((session*)opened)->error;
}
