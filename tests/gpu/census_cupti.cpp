// The cross-check: a library for CUDA_INJECTION64_PATH that counts launches through CUPTI.
//
// Writes CENSUS_OUT (default census.json) when the process ends:
//
//   {"driver_calls": {"cuLaunchKernel": 150, "cuGraphLaunch": 100},
//    "activities": {"add_one": [[1700, 2820], [6900, 7988]]},
//    "errors": []}
//
// Calls of the application by function, and when its kernels began and ended on the device in
// nanoseconds (census.py reads it).
//
// It has nothing of the injected library in it, so that a mistake cannot be made twice.
#include <cuda.h>
#include <cupti.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;  // CUPTI 12.4 to 12.9
#endif

constexpr std::array kLaunches{
    CUPTI_DRIVER_TRACE_CBID_cuLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

struct Census {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> driver_calls;
  std::map<std::string, std::vector<std::array<std::uint64_t, 2>>> activities;
  std::vector<std::string> errors;
};

// Never destroyed: CUPTI's threads may outlive static objects.
Census& census() {
  static auto* const the_census = new Census;
  return *the_census;
}

bool succeeded(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return true;
  const char* text = "unknown";
  cuptiGetResultString(result, &text);
  const std::lock_guard lock(census().mutex);
  census().errors.push_back(std::string(what) + ": " + text);
  return false;
}

void CUPTIAPI on_driver_call(void*, CUpti_CallbackDomain, CUpti_CallbackId,
                             const void* callback_data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(callback_data);
  if (call.callbackSite != CUPTI_API_ENTER) return;
  const std::lock_guard lock(census().mutex);
  ++census().driver_calls[call.functionName];
}

constexpr std::size_t kBufferBytes = 4U << 20U;
constexpr std::size_t kBufferAlignment = 8;  // CUPTI asks for 8-byte aligned buffers

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream_id, std::uint8_t* buffer,
                          std::size_t, std::size_t valid_bytes) {
  const std::lock_guard lock(census().mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const KernelRecord*>(record);
    census().activities[kernel->name].push_back({kernel->start, kernel->end});
  }
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream_id, &dropped) == CUPTI_SUCCESS &&
      dropped > 0) {
    census().errors.push_back(std::to_string(dropped) + " records were dropped");
  }
  std::free(buffer);
}

// CENSUS_ACTIVITIES=0: count calls only.
bool wants_activities() {
  const char* wanted = std::getenv("CENSUS_ACTIVITIES");
  return wanted == nullptr || std::string_view(wanted) != "0";
}

void write_census() {
  // CUPTI refuses to flush if no buffers were registered.
  if (wants_activities()) {
    succeeded(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  }
  const std::lock_guard lock(census().mutex);
  const nlohmann::ordered_json file{{"driver_calls", census().driver_calls},
                                    {"activities", census().activities},
                                    {"errors", census().errors}};
  const char* path = std::getenv("CENSUS_OUT");
  std::ofstream(path != nullptr ? path : "census.json") << file.dump() << '\n';
}

}  // namespace

// Called by the driver while it is initialised; 1 is success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (succeeded(cuptiSubscribe(&subscriber, on_driver_call, nullptr), "cuptiSubscribe")) {
    for (const auto id : kLaunches) {
      succeeded(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id),
                "launch callback");
    }
  }
  if (wants_activities()) {
    succeeded(cuptiActivityRegisterCallbacks(give_buffer, take_buffer),
              "cuptiActivityRegisterCallbacks");
    succeeded(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  }
  std::atexit(write_census);
  return 1;
}
