#include "cupti/cupti_records.hpp"

#include "hook/guard.hpp"
#include "sys/cupti_api.hpp"

#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>

namespace inline_prof::cupti {
namespace {

// The offsets of the members up to correlationId have been the same in every version since CUDA 11.
#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif

// 1 MiB: some five thousand kernels; CUPTI's documentation advises 1 to 10 MB.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
constexpr double kNotYet = -1;

struct Records {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, double> duration_us;  // of wanted ones; kNotYet until it comes
  std::uint64_t dropped = 0;
};

// Never destroyed: CUPTI's thread may still deliver buffers during exit.
Records& records() {
  static auto* const all = new Records;
  return *all;
}

// malloc's alignment suffices: CUPTI asks for 8 bytes.
void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::malloc(kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most = 0;
}

void keep_wanted(std::uint8_t* buffer, std::size_t valid) {
  Records& all = records();
  const std::lock_guard lock(all.mutex);
  CUpti_Activity* record = nullptr;
  while (sys::cupti().cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto& kernel = *reinterpret_cast<const KernelRecord*>(record);
    const auto wanted = all.duration_us.find(kernel.correlationId);
    // cupti_activity.h, cuptiActivityGetNextRecord: "may contain invalid (0) timestamps".
    if (wanted == all.duration_us.end() || kernel.start == 0 || kernel.end < kernel.start) continue;
    wanted->second = static_cast<double>(kernel.end - kernel.start) * 1e-3;
  }
  std::size_t dropped = 0;
  if (sys::cupti().cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
    all.dropped += dropped;
  }
}

// On a thread of CUPTI's, or in cuptiActivityFlushAll.
void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  try {
    keep_wanted(buffer, valid);
  } catch (const std::exception& error) {
    sys::turn_off("CUPTI", error.what());
  }
  std::free(buffer);
}

// Held during a flush, so that a second caller returns only after all records have arrived.
constinit std::mutex flushing;

void flush() {
  const std::lock_guard lock(flushing);
  static_cast<void>(sys::cupti().cuptiActivityFlushAll(0));
}

}  // namespace

std::string start_records() {
  static_cast<void>(records());
  if (sys::cupti().cuptiActivityRegisterCallbacks(&give_buffer, &take_buffer) != CUPTI_SUCCESS) {
    return "cuptiActivityRegisterCallbacks failed";
  }
  // CONCURRENT_KERNEL and not KERNEL, which would keep kernels from overlapping.
  const CUptiResult result =
      sys::cupti().cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  return result == CUPTI_SUCCESS
             ? std::string()
             : "cuptiActivityEnable failed (CUptiResult " + std::to_string(result) + ")";
}

void stop_records() {
  flush();
  static_cast<void>(sys::cupti().cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

void keep_record_of(std::uint32_t correlation_id) noexcept {
  try {
    const std::lock_guard lock(records().mutex);
    records().duration_us.emplace(correlation_id, kNotYet);
  } catch (const std::bad_alloc&) {
    return;  // one sample has no CUPTI time
  }
}

record::CrossCheck collect_records() {
  flush();
  record::CrossCheck check;
  const std::lock_guard lock(records().mutex);
  for (const auto& [id, us] : records().duration_us) {
    if (us != kNotYet) check.times_us.emplace(id, us);
  }
  check.dropped_records = records().dropped;
  return check;
}

}  // namespace inline_prof::cupti
