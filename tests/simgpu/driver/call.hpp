// What every exported driver function does around its own work.
#pragma once

#include "common/entry.hpp"
#include "driver/simulator.hpp"

#include <mutex>
#include <new>

namespace inline_prof::simgpu {

// What a call costs on the host's clock; the numbers are in the model file.
enum class Cost { kNone, kLaunch, kGraphLaunch, kRecord, kQuery, kWait, kCopy, kAllocate, kOther };

[[nodiscard]] Nanoseconds cost_of(const Simulator& simulator, Cost cost);

class DriverEntry : public Entry {
 public:
  explicit DriverEntry(const char* function) : Entry(function, CUDA_ERROR_LAUNCH_FAILED) {}
};

// Logs the call and lets it fail if SIMGPU_FAIL says so; else locks the simulator, moves the host's
// clock, lets waiting streams go on, and runs `body(simulator)`.
template <typename Body>
CUresult call(const DriverEntry& entry, Cost cost, Body&& body) noexcept {
  if (const int injected = entry.begin(); injected != 0) return static_cast<CUresult>(injected);
  Simulator* simulator = Simulator::instance();
  if (simulator == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  try {
    const std::lock_guard lock(simulator->mutex);
    simulator->engine.advance_host(cost_of(*simulator, cost));
    simulator->engine.pump();
    simulator->let_go();
    return body(*simulator);
  } catch (const Failure& failure) {
    return failure.code;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {  // a bug of the simulator
    return CUDA_ERROR_UNKNOWN;
  }
}

// For `body`s that return nothing: they succeed or throw.
template <typename Body>
CUresult perform(const DriverEntry& entry, Cost cost, Body&& body) noexcept {
  return call(entry, cost, [&](Simulator& simulator) {
    body(simulator);
    return CUDA_SUCCESS;
  });
}

template <typename Pointer>
void require(const Pointer* pointer) {
  if (pointer == nullptr) throw Failure{CUDA_ERROR_INVALID_VALUE};
}

inline void require_value(bool good) {
  if (!good) throw Failure{CUDA_ERROR_INVALID_VALUE};
}

// A device pointer is an address in this process.
inline void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace inline_prof::simgpu
