// Calls that wait for the device: where the host does so once an iteration, it tells where
// iterations end.
#include "entry/driver_functions.hpp"
#include "entry/guard.hpp"
#include "session/iteration_boundary.hpp"
#include "sys/lifecycle.hpp"

namespace inline_prof::hook {
namespace {

void note_wait(const char* where) noexcept {
  if (!sys::is_on() || !looking_for_period.load(std::memory_order_relaxed)) return;
  fenced(where, [] { note_host_wait(); });
}

}  // namespace

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
