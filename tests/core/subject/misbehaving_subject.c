/* A subject that misbehaves as told: the honest example, until a call that has a tensor whose target shards differ in
 * their share of dim 0. So small and even cases pass, and a failure has something to minimise.
 *
 *     lib:PATH/libmisbehaving_subject.so?do=WHAT
 *
 * WHAT, on the first rank with the smallest share: crash, abort, hang (outside of every callback), exit (with status
 * 0), heap (overruns a block, so that the C library aborts when the one behind it is freed), one_rank_error (after it
 * has delivered). On all ranks: error, refuse (with every buffer untouched), print (lines on stdout and stderr, then
 * it delivers). Without WHAT it is the example. */
#include "core/subject/abi.h"

/* The example's functions under other names. */
#define reshardcheck_subject_open example_open
#define reshardcheck_subject_reshard example_reshard
#define reshardcheck_subject_close example_close
#define reshardcheck_subject_last_error example_last_error
#include "core/subject/example/example_subject.c"
#undef reshardcheck_subject_open
#undef reshardcheck_subject_reshard
#undef reshardcheck_subject_close
#undef reshardcheck_subject_last_error

#include <unistd.h>

typedef struct misbehaving {
  void* example; /* its session */
  char what[32];
  const char* error; /* NULL: ask the example */
} misbehaving;

/* The elements of dim 0 that a target mesh index owns; of a tensor of 0 dims, 0. */
static int64_t share(const session* self, const reshardcheck_tensor* tensor, int64_t index) {
  reshardcheck_interval* list;
  int64_t elements = 0;
  size_t count;
  if (tensor->dims == 0) return 0;
  list = owned(self, &tensor->target, index, 0, &count);
  while (list != NULL && count-- > 0) elements += list[count].end - list[count].begin;
  free(list);
  return elements;
}

/* The first rank with the smallest share of a tensor whose shares differ, or -1. */
static int32_t rank_with_less(const session* self, const reshardcheck_tensor* tensors, uint64_t tensor_count) {
  uint64_t i;
  for (i = 0; i < tensor_count; ++i) {
    const int64_t size = mesh_size(&tensors[i].target);
    const int64_t first = share(self, &tensors[i], 0);
    int64_t least = first, where = 0, index;
    int differ = 0;
    for (index = 1; index < size; ++index) {
      const int64_t here = share(self, &tensors[i], index);
      differ = differ || here != first;
      if (here < least) {
        least = here;
        where = index;
      }
    }
    if (differ) return tensors[i].target.ranks[where];
  }
  return -1;
}

/* Writes from one block into the next and frees that: glibc sees its size, which cannot be, and aborts. Blocks this
 * large are not kept in the caches that skip the check. */
static void overrun_the_heap(void) {
  enum { bytes = 3000, tries = 64 };
  int i;
  for (i = 0; i < tries; ++i) {
    char* const first = malloc(bytes);
    char* const second = malloc(bytes);
    if (first < second && second - first < 2 * bytes) {
      volatile char* place;
      for (place = first; place < second; ++place) *place = 'A';
      free(second);
    }
  }
}

static void misbehave(const char* what) {
  volatile int* volatile nowhere = NULL;
  if (strcmp(what, "crash") == 0) *nowhere = 1;
  if (strcmp(what, "abort") == 0) abort();
  if (strcmp(what, "shout") == 0) {
    for (int i = 0; i < 200; ++i) fputs("\xc3\xa9", stderr); /* cut anywhere, and then no UTF-8 at all */
    fputs("\xff\n", stderr);
    abort();
  }
  if (strcmp(what, "exit") == 0) exit(0);
  if (strcmp(what, "heap") == 0) overrun_the_heap();
  while (strcmp(what, "hang") == 0) pause();
}

int reshardcheck_subject_open(const reshardcheck_world* world, const reshardcheck_options* options, void** opened) {
  misbehaving* self = calloc(1, sizeof *self);
  reshardcheck_options plain = *options;
  *opened = self;
  if (self == NULL) return RESHARDCHECK_ERROR;
  if (strncmp(options->text, "do=", 3) == 0) {
    snprintf(self->what, sizeof self->what, "%s", options->text + 3);
    plain.text = "";
  }
  return example_open(world, &plain, &self->example);
}

int reshardcheck_subject_reshard(void* opened, const reshardcheck_tensor* tensors, uint64_t tensor_count) {
  misbehaving* self = opened;
  const session* example = self->example;
  const int32_t rank = rank_with_less(example, tensors, tensor_count);
  int result;
  self->error = NULL;
  if (rank >= 0) {
    if (rank == example->world->rank) misbehave(self->what);
    if (strcmp(self->what, "error") == 0) {
      self->error = "told to fail\non uneven shards";
      return RESHARDCHECK_ERROR;
    }
    if (strcmp(self->what, "refuse") == 0) {
      self->error = "told to refuse uneven shards";
      return RESHARDCHECK_UNSUPPORTED;
    }
    if (strcmp(self->what, "print") == 0) {
      printf("{\"verdict\":\"pass\",\"from\":\"rank %d\"}\nno newline behind this", (int)example->world->rank);
      fflush(stdout);
      fprintf(stderr, "rank %d was told to print\n", (int)example->world->rank);
    }
  }
  result = example_reshard(self->example, tensors, tensor_count);
  if (rank >= 0 && rank == example->world->rank && strcmp(self->what, "one_rank_error") == 0) {
    self->error = "told to fail on one rank";
    return RESHARDCHECK_ERROR;
  }
  return result;
}

void reshardcheck_subject_close(void* opened) {
  misbehaving* self = opened;
  example_close(self->example);
  free(self);
}

const char* reshardcheck_subject_last_error(void* opened) {
  misbehaving* self = opened;
  if (self == NULL) return "not enough memory";
  return self->error != NULL ? self->error : example_last_error(self->example);
}
