// What every exported function of the simulated CUPTI does around its own work.
#pragma once

#include "common/exported.hpp"
#include "cupti/client.hpp"

#include <exception>

namespace simgpu {

// cuptiGetLastError: "Returns the last error that has been produced by any of the CUPTI API calls
// or the callback in the same host thread and resets it to CUPTI_SUCCESS."
[[nodiscard]] CUptiResult& last_cupti_error();

// Logs the call and lets it fail if SIMGPU_FAIL says so, else runs `body()`.
template <typename Body>
CUptiResult cupti_call(const CuptiEntry& entry, Body&& body) noexcept {
  const auto run = [&]() -> CUptiResult {
    if (const int injected = entry.begin(); injected != 0) {
      return static_cast<CUptiResult>(injected);
    }
    if (cupti_driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
    try {
      return body();
    } catch (const std::exception&) {
      return CUPTI_ERROR_OUT_OF_MEMORY;
    }
  };
  const CUptiResult result = run();
  if (result != CUPTI_SUCCESS) last_cupti_error() = result;
  return result;
}

}  // namespace simgpu

// SIMGPU_CALL(symbol, names of the parameters...) { body }
#define SIMGPU_CALL(symbol, ...) \
  SIMGPU_EXPORTED(CUptiResult, CuptiEntry, cupti_call, symbol, __VA_ARGS__)
