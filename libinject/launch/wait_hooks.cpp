#include "entry/driver_functions.hpp"
#include "hook/guard.hpp"
#include "launch/waits.hpp"
#include "session/armed_event.hpp"
#include "session/iteration_boundary.hpp"
#include "sys/lifecycle.hpp"
#include "timer/last_wait.hpp"

namespace inline_prof::hook {

HostWait note_wait(const char* where) noexcept {
  if (sys::is_on()) {
    if (looking_for_period.load(std::memory_order_relaxed)) fenced(where, [] { note_host_wait(); });
    if (hints_are_counted()) fenced(where, [] { note_hint_of_phase(); });
  }
  return HostWait(true);
}

std::optional<std::uint32_t> HostWait::time_of_call_us() noexcept {
  if (armed_count.load(std::memory_order_relaxed) == 0 &&
      !measures_everything.load(std::memory_order_relaxed)) {
    return std::nullopt;
  }
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

CUresult CUDAAPI hooked_cuStreamSynchronize(CUstream stream) {
  const HostWait wait = note_wait("cuStreamSynchronize");
  return original_cuStreamSynchronize(stream);
}

CUresult CUDAAPI hooked_cuStreamSynchronize_ptsz(CUstream stream) {
  const HostWait wait = note_wait("cuStreamSynchronize");
  return original_cuStreamSynchronize_ptsz(stream);
}

}  // namespace inline_prof::hook
