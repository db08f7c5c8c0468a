// Calls that wait for the device, or copy from or to it: where the host does so in each iteration,
// it tells where iterations end.
#include "entry/driver_functions.hpp"
#include "entry/guard.hpp"
#include "session/iteration_boundary.hpp"
#include "sys/cuda_api.hpp"
#include "sys/lifecycle.hpp"

namespace inline_prof::hook {
namespace {

void note_wait(const char* where) noexcept {
  if (!sys::is_on()) return;
  if (looking_for_period.load(std::memory_order_relaxed)) fenced(where, [] { note_host_wait(); });
  if (hints_are_counted()) fenced(where, [] { note_hint_of_phase(); });
}

void note_copy(const char* where) noexcept {
  if (!sys::is_on() || !looking_for_period.load(std::memory_order_relaxed)) return;
  fenced(where, [] { note_host_wait(); });
}

// Of unified addresses: memory that the driver does not know is the host's.
bool is_on_device(CUdeviceptr address) noexcept {
  unsigned type = 0;
  return sys::cuda().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
             CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE;
}

void note_copy_between(CUdeviceptr to, CUdeviceptr from) noexcept {
  if (!sys::is_on() || !looking_for_period.load(std::memory_order_relaxed)) return;
  fenced("cuMemcpyAsync", [&] {
    if (sys::cuda().cuPointerGetAttribute == nullptr) return;
    if (!is_on_device(to) || !is_on_device(from)) note_host_wait();
  });
}

}  // namespace

CUresult CUDAAPI hooked_cuEventSynchronize(CUevent event) {
  note_wait("cuEventSynchronize");
  return original_cuEventSynchronize(event);
}

CUresult CUDAAPI hooked_cuCtxSynchronize() {
  note_wait("cuCtxSynchronize");
  return original_cuCtxSynchronize();
}

CUresult CUDAAPI hooked_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                      CUstream stream) {
  note_copy_between(to, from);
  return original_cuMemcpyAsync(to, from, bytes, stream);
}

CUresult CUDAAPI hooked_cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                           CUstream stream) {
  note_copy_between(to, from);
  return original_cuMemcpyAsync_ptsz(to, from, bytes, stream);
}

CUresult CUDAAPI hooked_cuMemcpyHtoD_v2(CUdeviceptr device, const void* host, std::size_t bytes) {
  note_copy("cuMemcpyHtoD");
  return original_cuMemcpyHtoD_v2(device, host, bytes);
}

CUresult CUDAAPI hooked_cuMemcpyHtoD_v2_ptds(CUdeviceptr device, const void* host,
                                             std::size_t bytes) {
  note_copy("cuMemcpyHtoD");
  return original_cuMemcpyHtoD_v2_ptds(device, host, bytes);
}

CUresult CUDAAPI hooked_cuMemcpyHtoDAsync_v2(CUdeviceptr device, const void* host,
                                             std::size_t bytes, CUstream stream) {
  note_copy("cuMemcpyHtoDAsync");
  return original_cuMemcpyHtoDAsync_v2(device, host, bytes, stream);
}

CUresult CUDAAPI hooked_cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr device, const void* host,
                                                  std::size_t bytes, CUstream stream) {
  note_copy("cuMemcpyHtoDAsync");
  return original_cuMemcpyHtoDAsync_v2_ptsz(device, host, bytes, stream);
}

CUresult CUDAAPI hooked_cuMemcpyDtoHAsync_v2(void* host, CUdeviceptr device, std::size_t bytes,
                                             CUstream stream) {
  note_copy("cuMemcpyDtoHAsync");
  return original_cuMemcpyDtoHAsync_v2(host, device, bytes, stream);
}

CUresult CUDAAPI hooked_cuMemcpyDtoHAsync_v2_ptsz(void* host, CUdeviceptr device, std::size_t bytes,
                                                  CUstream stream) {
  note_copy("cuMemcpyDtoHAsync");
  return original_cuMemcpyDtoHAsync_v2_ptsz(host, device, bytes, stream);
}

CUresult CUDAAPI hooked_cuStreamSynchronize(CUstream stream) {
  note_wait("cuStreamSynchronize");
  return original_cuStreamSynchronize(stream);
}

CUresult CUDAAPI hooked_cuStreamSynchronize_ptsz(CUstream stream) {
  note_wait("cuStreamSynchronize");
  return original_cuStreamSynchronize_ptsz(stream);
}

CUresult CUDAAPI hooked_cuMemcpyDtoH_v2(void* host, CUdeviceptr device, std::size_t bytes) {
  note_wait("cuMemcpyDtoH");
  return original_cuMemcpyDtoH_v2(host, device, bytes);
}

CUresult CUDAAPI hooked_cuMemcpyDtoH_v2_ptds(void* host, CUdeviceptr device, std::size_t bytes) {
  note_wait("cuMemcpyDtoH");
  return original_cuMemcpyDtoH_v2_ptds(host, device, bytes);
}

}  // namespace inline_prof::hook
