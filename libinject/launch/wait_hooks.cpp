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

#define INLINE_PROF_WAIT(symbol, parameters, arguments) \
  CUresult CUDAAPI hooked_##symbol parameters {         \
    const HostWait wait = note_wait(#symbol);           \
    return original_##symbol arguments;                 \
  }
INLINE_PROF_WAIT(cuEventSynchronize, (CUevent event), (event))
INLINE_PROF_WAIT(cuCtxSynchronize, (), ())
INLINE_PROF_WAIT(cuCtxSynchronize_v2, (CUcontext context), (context))
INLINE_PROF_WAIT(cuStreamSynchronize, (CUstream stream), (stream))
INLINE_PROF_WAIT(cuStreamSynchronize_ptsz, (CUstream stream), (stream))

}  // namespace inline_prof::launch
