/* What the simulated GPU offers beside the vendor's API.  Found with dlsym in libcuda.so.1; a real
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

/* What nvcc's registration code tells about a fat binary.  The binary itself is never read: `image`
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

#ifdef __cplusplus
}
#endif
