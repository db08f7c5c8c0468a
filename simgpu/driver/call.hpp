// Every exported driver function logs, locks and takes its time in the same way.
#pragma once

#include "common/entry.hpp"
#include "common/exported.hpp"
#include "driver/proc_table.hpp"
#include "driver/simulator.hpp"

#include <mutex>
#include <new>

namespace simgpu {

// The kind of a call decides its cost on the host's clock; the numbers are in the model file.
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
    simulator->engine.host_clock.advance(cost_of(*simulator, cost));
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

}  // namespace simgpu

// Each function is written once: the macros define what is exported and its rows for
// cuGetProcAddress.  `typed` is the vendor's name with the CUDA version that brought this form
// (common/proc_name.hpp).

// SIMGPU_FUNCTION(symbol, typed, names of the parameters...) { body }: `entry` is the function's,
// which the body begins.
#define SIMGPU_FUNCTION(symbol, typed, ...)                                              \
  static CUresult body_##symbol([[maybe_unused]] const DriverEntry& entry __VA_OPT__(, ) \
                                    SIMGPU_PARAMETERS(symbol, __VA_ARGS__));             \
  CUresult symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                              \
    static const DriverEntry entry{__func__};                                            \
    return body_##symbol(entry __VA_OPT__(, ) __VA_ARGS__);                              \
  }                                                                                      \
  SIMGPU_PROC(symbol, typed)                                                             \
  static CUresult body_##symbol([[maybe_unused]] const DriverEntry& entry __VA_OPT__(, ) \
                                    SIMGPU_PARAMETERS(symbol, __VA_ARGS__))

// The same for `symbol` and `symbol_ptsz`: `which` says what a null stream means.
#define SIMGPU_STREAM_FUNCTION(symbol, typed, ...)                             \
  static CUresult body_##symbol(const DriverEntry& entry, DefaultStream which, \
                                SIMGPU_PARAMETERS(symbol, __VA_ARGS__));       \
  CUresult symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                    \
    static const DriverEntry entry{__func__};                                  \
    return body_##symbol(entry, kLegacy, __VA_ARGS__);                         \
  }                                                                            \
  CUresult symbol##_ptsz(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {             \
    static const DriverEntry entry{__func__};                                  \
    return body_##symbol(entry, kPerThread, __VA_ARGS__);                      \
  }                                                                            \
  SIMGPU_PROC_TWINS(symbol, symbol##_ptsz, typed)                              \
  static CUresult body_##symbol(const DriverEntry& entry, DefaultStream which, \
                                SIMGPU_PARAMETERS(symbol, __VA_ARGS__))

// SIMGPU_CALL(symbol, typed, cost, names...) { body }: the body is performed with the simulator
// `s`.
#define SIMGPU_CALL(symbol, typed, cost, ...)                                           \
  static void body_##symbol([[maybe_unused]] Simulator& s __VA_OPT__(, )                \
                                SIMGPU_PARAMETERS(symbol, __VA_ARGS__));                \
  SIMGPU_FUNCTION(symbol, typed, __VA_ARGS__) {                                         \
    return perform(entry, Cost::cost,                                                   \
                   [&](Simulator& s) { body_##symbol(s __VA_OPT__(, ) __VA_ARGS__); }); \
  }                                                                                     \
  static void body_##symbol([[maybe_unused]] Simulator& s __VA_OPT__(, )                \
                                SIMGPU_PARAMETERS(symbol, __VA_ARGS__))

// The same for `symbol` and `symbol_ptsz`, as SIMGPU_STREAM_FUNCTION.
#define SIMGPU_STREAM_CALL(symbol, typed, cost, ...) \
  SIMGPU_CALL_TWINS(symbol, symbol##_ptsz, typed, cost, __VA_ARGS__)
// For functions that take no stream, and use the default stream: `symbol` and `symbol_ptds`.
#define SIMGPU_DEFAULT_STREAM_CALL(symbol, typed, cost, ...) \
  SIMGPU_CALL_TWINS(symbol, symbol##_ptds, typed, cost, __VA_ARGS__)
#define SIMGPU_CALL_TWINS(symbol, twin, typed, cost, ...)                             \
  static void body_##symbol(Simulator& s, DefaultStream which,                        \
                            SIMGPU_PARAMETERS(symbol, __VA_ARGS__));                  \
  CUresult symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                           \
    static const DriverEntry entry{__func__};                                         \
    return perform(entry, Cost::cost,                                                 \
                   [&](Simulator& s) { body_##symbol(s, kLegacy, __VA_ARGS__); });    \
  }                                                                                   \
  CUresult twin(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {                             \
    static const DriverEntry entry{__func__};                                         \
    return perform(entry, Cost::cost,                                                 \
                   [&](Simulator& s) { body_##symbol(s, kPerThread, __VA_ARGS__); }); \
  }                                                                                   \
  SIMGPU_PROC_TWINS(symbol, twin, typed)                                              \
  static void body_##symbol(Simulator& s, DefaultStream which,                        \
                            SIMGPU_PARAMETERS(symbol, __VA_ARGS__))

// SIMGPU_GET(symbol, typed, cost, value, names before the last...): the last parameter says where
// the value goes; of SIMGPU_GET_OF the first.  SIMGPU_STREAM_GET gets it of a stream.
#define SIMGPU_GET(symbol, typed, cost, value, ...)                 \
  SIMGPU_CALL(symbol, typed, cost, __VA_ARGS__ __VA_OPT__(, ) to) { \
    require(to);                                                    \
    *to = value;                                                    \
  }
#define SIMGPU_GET_OF(symbol, typed, cost, value, ...) \
  SIMGPU_CALL(symbol, typed, cost, to, __VA_ARGS__) {  \
    require(to);                                       \
    *to = value;                                       \
  }
#define SIMGPU_STREAM_GET(symbol, typed, cost, value)   \
  SIMGPU_STREAM_CALL(symbol, typed, cost, stream, to) { \
    require(to);                                        \
    *to = value;                                        \
  }
