#include "hook/driver_functions.hpp"
#include "hook/observer.hpp"
#include "launch/launch_filter.hpp"
#include "launch/waits.hpp"
#include "sys/lifecycle.hpp"
#include "timer/last_wait.hpp"

namespace inline_prof::launch {

HostWait note_wait(const char* where) noexcept {
  if (sys::is_on() && filter.wants_waits())
    hook::report(where, [](hook::Observer& session) { session.host_waits(); });
  return HostWait(true);
}

std::optional<std::uint32_t> HostWait::time_of_call_us() noexcept {
  if (!filter.measures_something()) return std::nullopt;
  return timer::monotonic_us();
}

void HostWait::note_end(std::uint32_t called_us) noexcept {
  timer::note_end_of_wait(called_us);
}

CUresult CUDAAPI hooked_cuEventSynchronize(CUevent event) {
  const HostWait wait = note_wait("cuEventSynchronize");
  return original_cuEventSynchronize(event);
}

CUresult CUDAAPI hooked_cuCtxSynchronize() {
  const HostWait wait = note_wait("cuCtxSynchronize");
  return original_cuCtxSynchronize();
}

CUresult CUDAAPI hooked_cuCtxSynchronize_v2(CUcontext context) {
  const HostWait wait = note_wait("cuCtxSynchronize_v2");
  return original_cuCtxSynchronize_v2(context);
}

CUresult CUDAAPI hooked_cuStreamSynchronize(CUstream stream) {
  const HostWait wait = note_wait("cuStreamSynchronize");
  return original_cuStreamSynchronize(stream);
}

CUresult CUDAAPI hooked_cuStreamSynchronize_ptsz(CUstream stream) {
  const HostWait wait = note_wait("cuStreamSynchronize");
  return original_cuStreamSynchronize_ptsz(stream);
}

}  // namespace inline_prof::launch
