/* Functions of the simulated GPU beside the vendor's API.  Found with dlsym in libcuda.so.1; a real
 * driver does not have these names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for tests ---- */

/* The virtual host clock, ns since cuInit.  API calls move it, nothing else does. */
int64_t simgpu_host_now_ns(void);

/* Host work between two API calls: moves the host clock forward.  Negative values are ignored. */
void simgpu_advance_host_ns(int64_t ns);

/* Kernels executed since cuInit or simgpu_reset_counts: launched directly, and inside graphs. */
uint64_t simgpu_launch_count(void);
uint64_t simgpu_graph_kernel_count(void);
void simgpu_reset_counts(void);

/* ---- private entry for the simulated runtime ---- */

struct simgpu_variable {
  const char* name;
  size_t bytes;
  int managed; /* one address for the host and all devices */
};

/* A fat binary, as nvcc's registration code describes it.  The binary is never read: `image`
 * is only the key by which cuModuleLoadData and cuLibraryLoadData find this description again. */
struct simgpu_image {
  const void* image;
  const char* const* kernels; /* mangled names */
  size_t kernel_count;
  const struct simgpu_variable* variables;
  size_t variable_count;
};

/* Copies the description.  Returns 0, or a CUresult.  A second call replaces the first. */
int simgpu_register_image(const struct simgpu_image* image);

/* ---- private contract with the simulated cuBLAS ---- */

/* The work of one launch.  A kernel of a PTX module whose first parameter is named `simgpu_work` is
 * expected to get this by value, and rules of the model file turn it into a duration. */
struct simgpu_work {
  double flops;
  double bytes;
};

/* ---- private contract with the simulated NCCL ---- */

/* One rank's part of a collective.  A kernel of a PTX module whose first parameter is named
 * `simgpu_meeting` is expected to get this by value.  It begins when its stream reaches it, and
 * ends the time of its work after the last of those who take part has begun. */
struct simgpu_meeting {
  struct simgpu_work work;
  void* state;
  /* Called when the kernel begins, at `begun_ns`, and again with the same values until it returns
   * 1: then `*all_there_ns` is when the last one began.  0: somebody is missing.  The simulator is
   * locked: no call of the driver's from here. */
  int (*meet)(void* state, int64_t begun_ns, int64_t* all_there_ns);
  /* Called once, when the kernel has ended or its context is gone.  Likewise locked. */
  void (*leave)(void* state);
  /* A launch that a graph has captured: called for each launch of the graph.  Returns the state of
   * that one, which is left like any other; `state` itself is left when no graph holds it. */
  void* (*again)(void* state);
};

/* ---- private contract with the simulated CUPTI ---- */

/* A launch, or the end of a module or library, as its caller made it.  `function` is the symbol
 * ("cuLaunchKernelEx_ptsz"); members that its signature does not have are 0. */
struct simgpu_api_call {
  const char* function;
  void* handle;       /* CUfunction, CUgraphExec, CUmodule or CUlibrary */
  const void* config; /* CUlaunchConfig */
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  void** parameters;
  void** extra;
  const char* kernel; /* mangled name, null for all else and an unknown handle */
  void* context;      /* current to the thread */
  uint32_t context_id;
  uint32_t correlation_id;
};

/* A kernel that the device has run, directly or inside a graph. */
struct simgpu_kernel_run {
  uint32_t correlation_id; /* of the call that launched it; 0 if that was not observed */
  uint32_t device, context_id, stream_id;
  const char* kernel; /* mangled name; valid until its library is unloaded */
  unsigned grid[3];
  unsigned block[3];
  unsigned dynamic_shared_bytes;
  int registers, static_shared_bytes;
  int in_graph;
  int64_t begin_ns, end_ns;
};

struct simgpu_observer {
  /* Before (`is_exit` 0, `result` null) and after each such call, in the thread that makes it, with
   * nothing locked.  `data` is the same word both times. */
  void (*call)(const struct simgpu_api_call* call, int is_exit, int* result, uint64_t* data);
  /* A context is there (`created` 1), or is about to go (0).  Nothing is locked. */
  void (*context)(void* context, uint32_t context_id, int created);
  /* A stream is about to go.  Nothing is locked. */
  void (*stream)(void* context, void* stream);
  /* Simulator locked: no call of the driver's from here.  `end_ns` may be in the host's future. */
  void (*kernel)(const struct simgpu_kernel_run* run);
};

/* One observer; null ends it.  The structure must stay. */
void simgpu_observe(const struct simgpu_observer* observer);

/* ---- private contract with the simulated NVML ---- */

struct simgpu_device_use {
  uint64_t memory_bytes; /* allocated by this process */
  int has_context;
  int is_busy; /* a stream has work that has not ended */
};

/* Leaves `use` alone before cuInit. */
void simgpu_use_of_device(int device, struct simgpu_device_use* use);

#ifdef __cplusplus
}
#endif
