// Our side of each hooked driver function, and the driver's side behind it.
//
// The wrappers have the vendor's signatures; only types that every toolkit since 12.4 declares are
// used.  Each one makes the application's call once, unchanged.
#pragma once

#include "sys/hot_line.hpp"

#include <cuda.h>

#include <array>
#include <atomic>

namespace inline_prof::hook {

#define INLINE_PROF_LAUNCH_PARAMETERS                                                \
  CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,    \
      void **parameters
#define INLINE_PROF_LAUNCH_ARGUMENTS \
  f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters

// The C++ name is ours, the symbol is the vendor's: cuda.h's own macros (cuCtxCreate ->
// cuCtxCreate_v4) stay out of the way.
#define INLINE_PROF_EXPORT_AS(symbol) __asm__(symbol) __attribute__((visibility("default")))

using LaunchKernel = CUresult(CUDAAPI*)(INLINE_PROF_LAUNCH_PARAMETERS, void** extra);
using LaunchKernelEx = CUresult(CUDAAPI*)(const CUlaunchConfig* config, CUfunction f,
                                          void** parameters, void** extra);
using LaunchCooperative = CUresult(CUDAAPI*)(INLINE_PROF_LAUNCH_PARAMETERS);
using GraphLaunch = CUresult(CUDAAPI*)(CUgraphExec graph, CUstream stream);

// launch_hooks.cpp.  "legacy", "per_thread": what a null stream means; "spare": legacy, for a
// second address.
CUresult CUDAAPI launch_kernel_legacy(INLINE_PROF_LAUNCH_PARAMETERS, void** extra)
    INLINE_PROF_EXPORT_AS("cuLaunchKernel");
CUresult CUDAAPI launch_kernel_per_thread(INLINE_PROF_LAUNCH_PARAMETERS, void** extra)
    INLINE_PROF_EXPORT_AS("cuLaunchKernel_ptsz");
CUresult CUDAAPI launch_kernel_spare(INLINE_PROF_LAUNCH_PARAMETERS,
                                     void** extra) __asm__("inline_prof_launch_kernel_spare");
CUresult CUDAAPI launch_counted_legacy(INLINE_PROF_LAUNCH_PARAMETERS,
                                       void** extra) __asm__("inline_prof_launch_counted_legacy");
CUresult CUDAAPI launch_counted_per_thread(INLINE_PROF_LAUNCH_PARAMETERS, void** extra) __asm__(
    "inline_prof_launch_counted_per_thread");
CUresult CUDAAPI launch_counted_spare(INLINE_PROF_LAUNCH_PARAMETERS,
                                      void** extra) __asm__("inline_prof_launch_counted_spare");
CUresult CUDAAPI launch_kernel_ex_legacy(const CUlaunchConfig* config, CUfunction f,
                                         void** parameters, void** extra)
    INLINE_PROF_EXPORT_AS("cuLaunchKernelEx");
CUresult CUDAAPI launch_kernel_ex_per_thread(const CUlaunchConfig* config, CUfunction f,
                                             void** parameters, void** extra)
    INLINE_PROF_EXPORT_AS("cuLaunchKernelEx_ptsz");
CUresult CUDAAPI launch_kernel_ex_spare(const CUlaunchConfig* config, CUfunction f,
                                        void** parameters, void** extra);
CUresult CUDAAPI launch_cooperative_legacy(INLINE_PROF_LAUNCH_PARAMETERS)
    INLINE_PROF_EXPORT_AS("cuLaunchCooperativeKernel");
CUresult CUDAAPI launch_cooperative_per_thread(INLINE_PROF_LAUNCH_PARAMETERS)
    INLINE_PROF_EXPORT_AS("cuLaunchCooperativeKernel_ptsz");
CUresult CUDAAPI launch_cooperative_spare(INLINE_PROF_LAUNCH_PARAMETERS);
CUresult CUDAAPI graph_launch_legacy(CUgraphExec graph, CUstream stream)
    INLINE_PROF_EXPORT_AS("cuGraphLaunch");
CUresult CUDAAPI graph_launch_per_thread(CUgraphExec graph, CUstream stream)
    INLINE_PROF_EXPORT_AS("cuGraphLaunch_ptsz");
CUresult CUDAAPI graph_launch_spare(CUgraphExec graph, CUstream stream);

// context_hooks.cpp.  CUexecAffinityParam and CUctxCreateParams are not in every toolkit: passed on
// as they come.
CUresult CUDAAPI primary_context_retain(CUcontext* context, CUdevice device)
    INLINE_PROF_EXPORT_AS("cuDevicePrimaryCtxRetain");
CUresult CUDAAPI primary_context_release(CUdevice device)
    INLINE_PROF_EXPORT_AS("cuDevicePrimaryCtxRelease");
CUresult CUDAAPI primary_context_release_v2(CUdevice device)
    INLINE_PROF_EXPORT_AS("cuDevicePrimaryCtxRelease_v2");
CUresult CUDAAPI primary_context_reset(CUdevice device)
    INLINE_PROF_EXPORT_AS("cuDevicePrimaryCtxReset");
CUresult CUDAAPI primary_context_reset_v2(CUdevice device)
    INLINE_PROF_EXPORT_AS("cuDevicePrimaryCtxReset_v2");
CUresult CUDAAPI context_create(CUcontext* context, unsigned flags, CUdevice device)
    INLINE_PROF_EXPORT_AS("cuCtxCreate");
CUresult CUDAAPI context_create_v2(CUcontext* context, unsigned flags, CUdevice device)
    INLINE_PROF_EXPORT_AS("cuCtxCreate_v2");
CUresult CUDAAPI context_create_v3(CUcontext* context, void* parameters, int parameter_count,
                                   unsigned flags, CUdevice device)
    INLINE_PROF_EXPORT_AS("cuCtxCreate_v3");
CUresult CUDAAPI context_create_v4(CUcontext* context, void* parameters, unsigned flags,
                                   CUdevice device) INLINE_PROF_EXPORT_AS("cuCtxCreate_v4");
CUresult CUDAAPI context_destroy(CUcontext context) INLINE_PROF_EXPORT_AS("cuCtxDestroy");
CUresult CUDAAPI context_destroy_v2(CUcontext context) INLINE_PROF_EXPORT_AS("cuCtxDestroy_v2");
CUresult CUDAAPI stream_destroy_v2(CUstream stream) INLINE_PROF_EXPORT_AS("cuStreamDestroy_v2");

// kernel_handles.cpp
CUresult CUDAAPI module_get_function(CUfunction* function, CUmodule module, const char* name)
    INLINE_PROF_EXPORT_AS("cuModuleGetFunction");
CUresult CUDAAPI library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name)
    INLINE_PROF_EXPORT_AS("cuLibraryGetKernel");
CUresult CUDAAPI kernel_get_function(CUfunction* function, CUkernel kernel)
    INLINE_PROF_EXPORT_AS("cuKernelGetFunction");

// proc_address.cpp
CUresult CUDAAPI get_proc_address(const char* symbol, void** function, int version,
                                  cuuint64_t flags) INLINE_PROF_EXPORT_AS("cuGetProcAddress");
CUresult CUDAAPI get_proc_address_v2(const char* symbol, void** function, int version,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult* status)
    INLINE_PROF_EXPORT_AS("cuGetProcAddress_v2");

// The driver's functions that do not stand in the hot line.
struct Originals {
  std::array<std::atomic<void*>, sys::kSlotsPerFunction> cooperative{};
  std::array<std::atomic<void*>, sys::kSlotsPerFunction> graph_launch{};
  std::atomic<void*> primary_context_retain{nullptr};
  std::atomic<void*> primary_context_release{nullptr};
  std::atomic<void*> primary_context_release_v2{nullptr};
  std::atomic<void*> primary_context_reset{nullptr};
  std::atomic<void*> primary_context_reset_v2{nullptr};
  std::atomic<void*> context_create{nullptr};
  std::atomic<void*> context_create_v2{nullptr};
  std::atomic<void*> context_create_v3{nullptr};
  std::atomic<void*> context_create_v4{nullptr};
  std::atomic<void*> context_destroy{nullptr};
  std::atomic<void*> context_destroy_v2{nullptr};
  std::atomic<void*> stream_destroy_v2{nullptr};
  std::atomic<void*> module_get_function{nullptr};
  std::atomic<void*> library_get_kernel{nullptr};
  std::atomic<void*> kernel_get_function{nullptr};
  std::atomic<void*> get_proc_address{nullptr};
  std::atomic<void*> get_proc_address_v2{nullptr};
};
extern constinit Originals originals;

// The driver's function in `real`, looked up under `symbol` where nobody has asked for it yet.
void* resolved(std::atomic<void*>& real, const char* symbol) noexcept;

}  // namespace inline_prof::hook
