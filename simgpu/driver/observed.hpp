// Tells the observer of simgpu.h, the simulated CUPTI, of calls.
#pragma once

#include "driver/simulator.hpp"
#include "simgpu.h"

#include <cstdint>

namespace simgpu {

// Null while nobody observes.
[[nodiscard]] const simgpu_observer* current_observer();

// Returns the id of the launch that this thread is making; 0 if it is not observed.
[[nodiscard]] std::uint32_t correlation_of_this_call();

// Tells the observer of a call: of its begin when constructed, of its end by `finished`.
class ObservedCall {
 public:
  ObservedCall(const simgpu_observer& observer, simgpu_api_call& call);
  void finished(CUresult result);

 private:
  const simgpu_observer& observer_;
  simgpu_api_call& call_;
  std::uint32_t outer_correlation_;
  std::uint64_t data_ = 0;
};

// Makes the call, and tells about it where somebody wants to know.
template <typename Body>
CUresult observed(simgpu_api_call call, Body&& body) noexcept {
  const simgpu_observer* observer = current_observer();
  if (observer == nullptr || Simulator::instance() == nullptr) return body();
  ObservedCall observation(*observer, call);
  const CUresult result = body();
  observation.finished(result);
  return result;
}

// With nothing locked.
enum class ContextChange { kDestroyed, kCreated };
void tell_of_context(CUcontext context, ContextChange change);
void tell_of_doomed_stream(CUstream stream);

struct KernelSpan {
  Nanoseconds begin, end;
  bool in_graph;
};
// With the simulator locked.
void tell_of_kernel(const Stream& stream, const KernelWork& work, const KernelSpan& span);

}  // namespace simgpu
