// Creation and destruction of contexts, streams and modules: calibration begins here, handles that
// end are forgotten, and threads that get a context are expected to launch.
#include "hook/driver_functions.hpp"
#include "hook/observer.hpp"
#include "hook/start.hpp"
#include "sys/lifecycle.hpp"

namespace inline_prof::launch {
namespace {

template <typename Report>
void tell(const char* where, const Report& report) noexcept {
  if (sys::is_on()) hook::report(where, report);
}

CUresult created(CUresult result, CUcontext* context, const char* where) {
  if (result != CUDA_SUCCESS || context == nullptr || *context == nullptr) return result;
  hook::start_once();
  tell(where, [&](hook::Observer& session) { session.context_created(*context); });
  return result;
}

// This thread has a context, and may launch from now on.
CUresult has_current(CUresult result, CUcontext context) {
  if (sys::this_thread.launches || result != CUDA_SUCCESS || context == nullptr) return result;
  tell("cuCtxSetCurrent", [](hook::Observer& session) { session.thread_may_launch(); });
  return result;
}

CUresult released(CUresult result, CUdevice device) {
  tell("cuDevicePrimaryCtxRelease",
       [&](hook::Observer& session) { session.primary_context_released(device); });
  return result;
}

}  // namespace

#define INLINE_PROF_CREATION(symbol, parameters, arguments)        \
  CUresult CUDAAPI hooked_##symbol parameters {                    \
    return created(original_##symbol arguments, context, #symbol); \
  }
INLINE_PROF_CREATION(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device),
                     (context, device))
INLINE_PROF_CREATION(cuCtxCreate, (CUcontext * context, unsigned flags, CUdevice device),
                     (context, flags, device))
INLINE_PROF_CREATION(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device),
                     (context, flags, device))
INLINE_PROF_CREATION(cuCtxCreate_v3,
                     (CUcontext * context, void* affinities, int count, unsigned flags,
                      CUdevice device),
                     (context, affinities, count, flags, device))
INLINE_PROF_CREATION(cuCtxCreate_v4,
                     (CUcontext * context, void* parameters, unsigned flags, CUdevice device),
                     (context, parameters, flags, device))

#define INLINE_PROF_AFTER(symbol, Handle, note)     \
  CUresult CUDAAPI hooked_##symbol(Handle handle) { \
    return note(original_##symbol(handle), handle); \
  }
INLINE_PROF_AFTER(cuCtxSetCurrent, CUcontext, has_current)
INLINE_PROF_AFTER(cuCtxPushCurrent, CUcontext, has_current)
INLINE_PROF_AFTER(cuCtxPushCurrent_v2, CUcontext, has_current)
INLINE_PROF_AFTER(cuDevicePrimaryCtxRelease, CUdevice, released)
INLINE_PROF_AFTER(cuDevicePrimaryCtxRelease_v2, CUdevice, released)

#define INLINE_PROF_BEFORE(symbol, Handle, note)                           \
  CUresult CUDAAPI hooked_##symbol(Handle handle) {                        \
    tell(#symbol, [&](hook::Observer& session) { session.note(handle); }); \
    return original_##symbol(handle);                                      \
  }
INLINE_PROF_BEFORE(cuDevicePrimaryCtxReset, CUdevice, primary_context_reset)
INLINE_PROF_BEFORE(cuDevicePrimaryCtxReset_v2, CUdevice, primary_context_reset)
INLINE_PROF_BEFORE(cuCtxDestroy, CUcontext, context_gone)
INLINE_PROF_BEFORE(cuCtxDestroy_v2, CUcontext, context_gone)
INLINE_PROF_BEFORE(cuModuleUnload, CUmodule, module_gone)
INLINE_PROF_BEFORE(cuLibraryUnload, CUlibrary, library_gone)
INLINE_PROF_BEFORE(cuStreamDestroy_v2, CUstream, stream_gone)

}  // namespace inline_prof::launch
