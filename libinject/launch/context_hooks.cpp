// Contexts and streams as they come and go: the moment of calibration, and what must not be touched
// any more.
#include "entry/guard.hpp"
#include "entry/start.hpp"
#include "entry/wrappers.hpp"
#include "session/session.hpp"

namespace inline_prof::hook {
namespace {

// Forwards with the application's arguments; `Function` is the vendor's signature.
template <typename Function, typename... Arguments>
CUresult forward_to_driver(std::atomic<void*>& real, const char* symbol, Arguments... arguments) {
  const auto function = reinterpret_cast<Function>(resolved(real, symbol));
  return function == nullptr ? CUDA_ERROR_NOT_INITIALIZED : function(arguments...);
}

using DeviceFunction = CUresult(CUDAAPI*)(CUdevice);
using ContextFunction = CUresult(CUDAAPI*)(CUcontext);

CUresult created(CUresult result, CUcontext* context, const char* where) {
  if (result != CUDA_SUCCESS || context == nullptr || *context == nullptr) return result;
  start_once();
  if (sys::is_on()) fenced(where, [&] { session::context_created(*context); });
  return result;
}

// After the call: a primary context is counted, and only the driver knows the count.
CUresult released(CUresult result, CUdevice device) {
  if (sys::is_on()) {
    fenced("cuDevicePrimaryCtxRelease", [&] { session::primary_context_released(device); });
  }
  return result;
}

// Before the call: afterwards the handle may already stand for something new.
void before_reset(CUdevice device) {
  if (sys::is_on()) {
    fenced("cuDevicePrimaryCtxReset", [&] { session::primary_context_reset(device); });
  }
}

}  // namespace

CUresult CUDAAPI primary_context_retain(CUcontext* context, CUdevice device) {
  const CUresult result = forward_to_driver<CUresult(CUDAAPI*)(CUcontext*, CUdevice)>(
      originals.primary_context_retain, "cuDevicePrimaryCtxRetain", context, device);
  return created(result, context, "cuDevicePrimaryCtxRetain");
}

CUresult CUDAAPI context_create(CUcontext* context, unsigned flags, CUdevice device) {
  const CUresult result = forward_to_driver<CUresult(CUDAAPI*)(CUcontext*, unsigned, CUdevice)>(
      originals.context_create, "cuCtxCreate", context, flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI context_create_v2(CUcontext* context, unsigned flags, CUdevice device) {
  const CUresult result = forward_to_driver<CUresult(CUDAAPI*)(CUcontext*, unsigned, CUdevice)>(
      originals.context_create_v2, "cuCtxCreate_v2", context, flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI context_create_v3(CUcontext* context, void* parameters, int parameter_count,
                                   unsigned flags, CUdevice device) {
  const CUresult result =
      forward_to_driver<CUresult(CUDAAPI*)(CUcontext*, void*, int, unsigned, CUdevice)>(
          originals.context_create_v3, "cuCtxCreate_v3", context, parameters, parameter_count,
          flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI context_create_v4(CUcontext* context, void* parameters, unsigned flags,
                                   CUdevice device) {
  const CUresult result =
      forward_to_driver<CUresult(CUDAAPI*)(CUcontext*, void*, unsigned, CUdevice)>(
          originals.context_create_v4, "cuCtxCreate_v4", context, parameters, flags, device);
  return created(result, context, "cuCtxCreate");
}

CUresult CUDAAPI primary_context_release(CUdevice device) {
  return released(forward_to_driver<DeviceFunction>(originals.primary_context_release,
                                                    "cuDevicePrimaryCtxRelease", device),
                  device);
}

CUresult CUDAAPI primary_context_release_v2(CUdevice device) {
  return released(forward_to_driver<DeviceFunction>(originals.primary_context_release_v2,
                                                    "cuDevicePrimaryCtxRelease_v2", device),
                  device);
}

CUresult CUDAAPI primary_context_reset(CUdevice device) {
  before_reset(device);
  return forward_to_driver<DeviceFunction>(originals.primary_context_reset,
                                           "cuDevicePrimaryCtxReset", device);
}

CUresult CUDAAPI primary_context_reset_v2(CUdevice device) {
  before_reset(device);
  return forward_to_driver<DeviceFunction>(originals.primary_context_reset_v2,
                                           "cuDevicePrimaryCtxReset_v2", device);
}

CUresult CUDAAPI context_destroy(CUcontext context) {
  if (sys::is_on()) fenced("cuCtxDestroy", [&] { session::context_gone(context); });
  return forward_to_driver<ContextFunction>(originals.context_destroy, "cuCtxDestroy", context);
}

CUresult CUDAAPI context_destroy_v2(CUcontext context) {
  if (sys::is_on()) fenced("cuCtxDestroy", [&] { session::context_gone(context); });
  return forward_to_driver<ContextFunction>(originals.context_destroy_v2, "cuCtxDestroy_v2",
                                            context);
}

CUresult CUDAAPI stream_destroy_v2(CUstream stream) {
  if (sys::is_on()) fenced("cuStreamDestroy", [&] { session::stream_gone(stream); });
  return forward_to_driver<CUresult(CUDAAPI*)(CUstream)>(originals.stream_destroy_v2,
                                                         "cuStreamDestroy_v2", stream);
}

}  // namespace inline_prof::hook
