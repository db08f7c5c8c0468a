// Creation and destruction of contexts, streams and modules: calibration begins here, handles that
// end are forgotten, and threads that get a context are expected to launch.
#include "entry/driver_functions.hpp"
#include "entry/start.hpp"
#include "hook/guard.hpp"
#include "launch/launching_threads.hpp"
#include "session/session.hpp"

namespace inline_prof::hook {
namespace {

CUresult created(CUresult result, CUcontext* context, const char* where) {
  if (result != CUDA_SUCCESS || context == nullptr || *context == nullptr) return result;
  start_once();
  if (sys::is_on()) fenced(where, [&] { session::context_created(*context); });
  return result;
}

// This thread has a context, and may launch from now on.
CUresult has_current(CUresult result, CUcontext context) {
  if (sys::this_thread.launches || result != CUDA_SUCCESS || context == nullptr) return result;
  if (sys::is_on()) fenced("cuCtxSetCurrent", session::thread_may_launch);
  return result;
}

// After the call, since only the driver knows the reference count of a primary context.
CUresult released(CUresult result, CUdevice device) {
  if (sys::is_on()) {
    fenced("cuDevicePrimaryCtxRelease", [&] { session::primary_context_released(device); });
  }
  return result;
}

// Before the call: afterwards the driver may already have reused the handle.
void before_reset(CUdevice device) {
  if (sys::is_on()) {
    fenced("cuDevicePrimaryCtxReset", [&] { session::primary_context_reset(device); });
  }
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
  if (sys::is_on()) fenced("cuCtxDestroy", [&] { session::context_gone(context); });
  return original_cuCtxDestroy(context);
}

CUresult CUDAAPI hooked_cuCtxDestroy_v2(CUcontext context) {
  if (sys::is_on()) fenced("cuCtxDestroy", [&] { session::context_gone(context); });
  return original_cuCtxDestroy_v2(context);
}

CUresult CUDAAPI hooked_cuModuleUnload(CUmodule module) {
  if (sys::is_on()) fenced("cuModuleUnload", [&] { session::module_gone(module); });
  return original_cuModuleUnload(module);
}

CUresult CUDAAPI hooked_cuLibraryUnload(CUlibrary library) {
  if (sys::is_on()) fenced("cuLibraryUnload", [&] { session::library_gone(library); });
  return original_cuLibraryUnload(library);
}

CUresult CUDAAPI hooked_cuStreamDestroy_v2(CUstream stream) {
  if (sys::is_on()) fenced("cuStreamDestroy", [&] { session::stream_gone(stream); });
  return original_cuStreamDestroy_v2(stream);
}

}  // namespace inline_prof::hook
