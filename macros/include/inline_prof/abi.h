/* The C interface between an application and the preloaded library.
 *
 * Nothing here is linked: a host finds the one exported function by name,
 *
 *     const struct inline_prof_abi* (*get)(void) = dlsym(RTLD_DEFAULT, "inline_prof_abi_v1");
 *
 * and gets a null `get` if the library is not loaded.  The macros (profile.h) do this; a Python or
 * Fortran host does it by hand.  The table only ever grows at its end: a caller checks `size`
 * before it uses a member that is newer than its own header.
 *
 * Every function may be called from any thread, returns at once, and never fails.
 */
#ifndef INLINE_PROF_ABI_H
#define INLINE_PROF_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INLINE_PROF_ABI_SYMBOL "inline_prof_abi_v1"

/* A `device_id` that the caller does not know: the device of the thread's current context. */
#define INLINE_PROF_DEVICE_UNKNOWN (-1)

/* One call site's memory, zeroed before its first use.  A site is used with one label only; if the
 * label can change between calls, pass a null site.
 *
 * Threads share a site.  The library stores `gate` once, with release order, after `label`; callers
 * load it with acquire order, and the word behind it in any order.  The library touches a site only
 * in calls that pass it: its memory may be unloaded with the code around it. */
struct inline_prof_site {
  const uint32_t* gate; /* null before the first call; `*gate == 0`: the call may be skipped now */
  void* label;          /* the library's own */
};

/* One attribute of an operation: an integer, or a string if `text` is not null. */
struct inline_prof_attribute {
  const char* name;
  const char* text;
  int64_t value;
};

/* The work of some launches of a call: the launches whose kernel's name contains one of the words
 * of `kernel`, which are separated by '|', or, if it is null, all that no earlier work fits.
 * Attributes named `..._bytes` and `flops` count all these launches together, divided among them by
 * their threads; with `is_each`, they count each launch. */
struct inline_prof_work {
  const char* kernel;
  const char* kind; /* a word of op_kind.hpp */
  const struct inline_prof_attribute* attributes;
  int32_t attribute_count;
  int32_t is_each;
};

struct inline_prof_abi {
  uint64_t size; /* sizeof(struct inline_prof_abi) when the library was built */

  /* INITIALIZE_PROFILER: `exit_when_finished` ends the process with status 0 once prof.json is
   * written. */
  void (*initialize)(int use_cuda_graph, int exit_when_finished);

  /* PROFILE_ITERATION: an iteration starts here.  The first call starts iteration 1. */
  void (*iteration)(void);

  /* PROFILE_RECORD: `label` ends in ".start" or ".stop".  `stream` is a CUstream or cudaStream_t.
   * `extra_info` may be null. */
  void (*record)(struct inline_prof_site* site, const char* label, void* stream, int device_id,
                 int could_be_in_cuda_graph, const char* extra_info);

  /* PROFILE_RECORD_DATA: returns 1 if data are wanted in this iteration.  Takes `data` if it is not
   * null. */
  int (*record_data)(const char* label, void* stream, const char* data, int device_id);

  /* PROFILE_SCOPE: a layer name for what this thread does until the matching pop. */
  void (*scope_push)(const char* label, void* stream);
  void (*scope_pop)(void);

  /* PROFILE_UNIT_TEST_START / _STOP. */
  void (*unit_test_start)(const char* test_name);
  void (*unit_test_stop)(void);

  /* PROFILE_OP: describes the next occurrence of `label` on this thread. `kind` is a word of
   * op_kind.hpp. */
  void (*op)(struct inline_prof_site* site, const char* label, const char* kind,
             const struct inline_prof_attribute* attributes, int attribute_count);

  /* Returns which calls the library still uses: the sum of the INLINE_PROF_WANTS_* below; 0 once
   * profiling has ended, which is final.  An application for which names are expensive asks once an
   * iteration. */
  uint32_t (*wants)(void);

  /* Sets the layer of this thread from now on, in place of that of the last call with the same
   * `id`; a null or empty `path`: none.  `id` is the caller's choice, belongs to one thread at a
   * time, and is not 0. */
  void (*layer_set)(uint64_t id, const char* path);

  /* Ends the layer of `id`, on whichever thread it was set. */
  void (*layer_end)(uint64_t id);

  /* Does what layer_set does, without a call at each change: the layer is the text that
   * `*path` points to when the library reads it, until layer_set with the same `id`, layer_end, or
   * the end of INLINE_PROF_WANTS_LAYERS.  A null `*path` means no layer.  `path` and the text must
   * stay valid meanwhile, and only this thread may write `*path`. */
  void (*layer_follow)(uint64_t id, const char* const* path);

  /* Opens a call: from here to call_close, the launches of this thread are one call of the
   * application's, such as an operator of a framework.  Used while INLINE_PROF_WANTS_OPERATORS, and
   * while a graph is captured.  A call inside a call is part of it. */
  void (*call_open)(void);

  /* Returns the launches of the open call so far, without those of labels and, inside a layer, of
   * library calls, which are described there.  0 ends the call, which then has no call_close. */
  int (*call_launches)(void);

  /* Ends the call, named `name`, and describes its launches.  Launches that no work fits have the
   * name alone, and so does a call of more than 65536 launches.  `layer`, which may be null, is the
   * layer of launches that have no other. */
  void (*call_close)(const char* name, const char* layer, const struct inline_prof_work* works,
                     int work_count);

  /* Lets the library wake an application whose calls it does not want for now
   * (INLINE_PROF_WANTS_TO_WAKE): once wants() has another answer it calls `schedule(work, 0)`, from
   * any thread and inside calls of the application's, so that `work` is called later, as Python's
   * Py_AddPendingCall does.  An answer other than 0 means that there was no room: it tries again.
   * A null `schedule` or `work`: the application cannot be woken any more. */
  void (*wake)(int (*schedule)(int (*work)(void*), void*), int (*work)(void*));
};

#define INLINE_PROF_WANTS_LAYERS 1u     /* scope_push, layer_*: new events are discovered */
#define INLINE_PROF_WANTS_LABELS 2u     /* record, op: until launches tell what they are around */
#define INLINE_PROF_WANTS_ITERATIONS 4u /* iteration */
#define INLINE_PROF_WANTS_OPERATORS 8u  /* call_*: in one iteration of the warm-up */
#define INLINE_PROF_WANTS_TO_WAKE 16u   /* nothing else now: launches tell iterations */
#define INLINE_PROF_WANTS_LAYERS_LATER 32u /* not in this iteration of the warm-up; nor labels */

typedef const struct inline_prof_abi* (*inline_prof_abi_v1_function)(void);

#ifdef __cplusplus
}
#endif

#endif
