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

void before_reset(CUdevice device) {
  tell("cuDevicePrimaryCtxReset",
       [&](hook::Observer& session) { session.primary_context_reset(device); });
}

void before_destroy(CUcontext context) {
  tell("cuCtxDestroy", [&](hook::Observer& session) { session.context_gone(context); });
}

}  // namespace

CUresult CUDAAPI hooked_cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const CUresult result = original_cuDevicePrimaryCtxRetain(context, device);
  return created(result, context, "cuDevicePrimaryCtxRetain");
}

CUresult CUDAAPI hooked_cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  const CUresult result = original_cuCtxCreate(context, flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI hooked_cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  const CUresult result = original_cuCtxCreate_v2(context, flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI hooked_cuCtxCreate_v3(CUcontext* context, void* parameters, int parameter_count,
                                       unsigned flags, CUdevice device) {
  const CUresult result =
      original_cuCtxCreate_v3(context, parameters, parameter_count, flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI hooked_cuCtxCreate_v4(CUcontext* context, void* parameters, unsigned flags,
                                       CUdevice device) {
  const CUresult result = original_cuCtxCreate_v4(context, parameters, flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI hooked_cuCtxSetCurrent(CUcontext context) {
  return has_current(original_cuCtxSetCurrent(context), context);
}

CUresult CUDAAPI hooked_cuCtxPushCurrent(CUcontext context) {
  return has_current(original_cuCtxPushCurrent(context), context);
}

CUresult CUDAAPI hooked_cuCtxPushCurrent_v2(CUcontext context) {
  return has_current(original_cuCtxPushCurrent_v2(context), context);
}

CUresult CUDAAPI hooked_cuDevicePrimaryCtxRelease(CUdevice device) {
  return released(original_cuDevicePrimaryCtxRelease(device), device);
}

CUresult CUDAAPI hooked_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return released(original_cuDevicePrimaryCtxRelease_v2(device), device);
}

CUresult CUDAAPI hooked_cuDevicePrimaryCtxReset(CUdevice device) {
  before_reset(device);
  return original_cuDevicePrimaryCtxReset(device);
}

CUresult CUDAAPI hooked_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  before_reset(device);
  return original_cuDevicePrimaryCtxReset_v2(device);
}

CUresult CUDAAPI hooked_cuCtxDestroy(CUcontext context) {
  before_destroy(context);
  return original_cuCtxDestroy(context);
}

CUresult CUDAAPI hooked_cuCtxDestroy_v2(CUcontext context) {
  before_destroy(context);
  return original_cuCtxDestroy_v2(context);
}

CUresult CUDAAPI hooked_cuModuleUnload(CUmodule module) {
  tell("cuModuleUnload", [&](hook::Observer& session) { session.module_gone(module); });
  return original_cuModuleUnload(module);
}

CUresult CUDAAPI hooked_cuLibraryUnload(CUlibrary library) {
  tell("cuLibraryUnload", [&](hook::Observer& session) { session.library_gone(library); });
  return original_cuLibraryUnload(library);
}

CUresult CUDAAPI hooked_cuStreamDestroy_v2(CUstream stream) {
  tell("cuStreamDestroy", [&](hook::Observer& session) { session.stream_gone(stream); });
  return original_cuStreamDestroy_v2(stream);
}

}  // namespace inline_prof::launch
