// The client of the simulated CUPTI: what it asked for, and what waits to be delivered.
#pragma once

#include "common/entry.hpp"
#include "common/exported.hpp"
#include "simgpu.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <vector>

// The vendor's headers, with what they declare exported (see driver/vendor_cuda.hpp).
// cupti.h makes up those structures that cuda.h declares only with it.
#undef __CUDA_API_VERSION_INTERNAL

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cupti.h>
#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#endif
#pragma GCC visibility pop

// A CUpti_SubscriberHandle points to one.
struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback = nullptr;
  void* user_data = nullptr;
  std::string name;
};

namespace simgpu {

class CuptiEntry : public Entry {
 public:
  explicit CuptiEntry(const char* function) : Entry(function, CUPTI_ERROR_UNKNOWN) {}
};

// The private entries of the simulated driver, and what identifiers are made of.
struct CuptiDriver {
  void (*observe)(const simgpu_observer*) = nullptr;
  std::int64_t (*host_now)() = nullptr;
  decltype(&cuCtxGetId) ctx_get_id = nullptr;
  decltype(&cuStreamGetId) stream_get_id = nullptr;
  decltype(&cuCtxGetCurrent) ctx_get_current = nullptr;
  decltype(&cuCtxSetCurrent) ctx_set_current = nullptr;
  decltype(&cuCtxGetDevice) ctx_get_device = nullptr;
};

// Null if there is no simulated driver, or SIMGPU_FAIL names a function that is not here.
[[nodiscard]] const CuptiDriver* cupti_driver();

// Device and host have one clock here; its zero is not CUPTI's "no timestamp".
inline constexpr std::int64_t kClockOffsetNs = 1'000'000'000;

inline constexpr std::size_t kMostCallbackIds = 1024;
static_assert(kMostCallbackIds > CUPTI_DRIVER_TRACE_CBID_SIZE);
static_assert(kMostCallbackIds > CUPTI_RUNTIME_TRACE_CBID_SIZE);

struct Client {
  std::atomic<CUpti_Subscriber_st*> subscriber{nullptr};
  // By domain and callback id.  Only launches, unloading, contexts and streams are ever told
  // (reference.md).
  std::array<std::array<std::atomic<bool>, kMostCallbackIds>, CUPTI_CB_DOMAIN_SIZE> enabled{};

  std::atomic<bool> collects_kernels{false};
  std::atomic<CUpti_BuffersCallbackRequestFunc> request_buffer{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_buffer{nullptr};

  std::mutex mutex;  // guards the rest, and subscribing; taken inside the driver's lock, so never
                     // the other way round
  std::vector<CUpti_ActivityKernel10> records;  // in order of launch, not delivered yet
  std::set<std::string> names;                  // what records point to
  std::uint64_t dropped = 0;
  // All that there ever were: a callback of an earlier one may still run in another thread.
  std::deque<CUpti_Subscriber_st> subscribers;
};

[[nodiscard]] Client& client();

// Observes the driver exactly while there is something to observe for.
void observe_if_needed();

// Ids that exist in the domain; 0 for an unknown domain.
[[nodiscard]] std::size_t callback_ids(CUpti_CallbackDomain domain);

// The id of a function that is told of, CUPTI_DRIVER_TRACE_CBID_INVALID for any other name; and
// back, null for any other id.
[[nodiscard]] CUpti_CallbackId call_id(const char* function);
[[nodiscard]] const char* call_name(CUpti_CallbackId id);

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
  SIMGPU_EXPORTED(CUptiResult, CUptiResult, CuptiEntry, cupti_call, symbol, __VA_ARGS__)
