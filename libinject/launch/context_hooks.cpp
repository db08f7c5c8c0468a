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

void created(const CUcontext* context) {
  if (context == nullptr || *context == nullptr) return;
  hook::start_once();
  tell("cuCtxCreate", [&](hook::Observer& session) { session.context_created(*context); });
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

INLINE_PROF_AFTER(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device),
                  (context, device), created(context))
INLINE_PROF_AFTER(cuCtxCreate, (CUcontext * context, unsigned flags, CUdevice device),
                  (context, flags, device), created(context))
INLINE_PROF_AFTER(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device),
                  (context, flags, device), created(context))
INLINE_PROF_AFTER(cuCtxCreate_v3,
                  (CUcontext * context, void* affinities, int count, unsigned flags,
                   CUdevice device),
                  (context, affinities, count, flags, device), created(context))
INLINE_PROF_AFTER(cuCtxCreate_v4,
                  (CUcontext * context, void* parameters, unsigned flags, CUdevice device),
                  (context, parameters, flags, device), created(context))

#define INLINE_PROF_WITH_RESULT(symbol, Handle, note) \
  CUresult CUDAAPI hooked_##symbol(Handle handle) {   \
    return note(original_##symbol(handle), handle);   \
  }
INLINE_PROF_WITH_RESULT(cuCtxSetCurrent, CUcontext, has_current)
INLINE_PROF_WITH_RESULT(cuCtxPushCurrent, CUcontext, has_current)
INLINE_PROF_WITH_RESULT(cuCtxPushCurrent_v2, CUcontext, has_current)
INLINE_PROF_WITH_RESULT(cuDevicePrimaryCtxRelease, CUdevice, released)
INLINE_PROF_WITH_RESULT(cuDevicePrimaryCtxRelease_v2, CUdevice, released)

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
