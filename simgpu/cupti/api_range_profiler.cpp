// Counters over ranges: one range, replayed by the user.  What a range counts is made of the
// kernels that ran in it: their time, and so many of everything else for each (reference.md).
#include "cupti/client.hpp"

#include <cstring>
#include <string_view>

using namespace simgpu;

namespace {

constexpr const char* kChip = "GH100";
constexpr std::size_t kPasses = 2;  // more than one, so that clients have to replay
constexpr double kOfEveryKernel = 1000;

// The contents of the images that clients carry from one call to the next.
struct RangeData {
  std::uint64_t kernels = 0;
  std::uint64_t duration_ns = 0;
};

struct RangeState {
  bool is_enabled = false;
  bool is_started = false;
  bool is_pushed = false;
  std::uint8_t* image = nullptr;
  std::size_t passes = 0;
  RangeData before;
};

RangeState& state() {
  static RangeState the_state;
  return the_state;
}

// All kernels that were observed so far.
RangeData observed() {
  const std::lock_guard lock(client().mutex);
  return {client().kernels_seen, client().kernel_ns_seen};
}

bool is_object(const void* object) {
  return object == &state();
}

CUpti_RangeProfiler_Object* the_profiler() {
  return reinterpret_cast<CUpti_RangeProfiler_Object*>(&state());
}
CUpti_Profiler_Host_Object* the_host() {
  return reinterpret_cast<CUpti_Profiler_Host_Object*>(&state());
}

}  // namespace

// SIMGPU_RANGE_CALL(symbol, type without _Params) { body }, which has the parameters `p`.
#define SIMGPU_RANGE_CALL(symbol, Type)                              \
  static CUptiResult checked_##symbol(Type##_Params* p);             \
  SIMGPU_CALL(symbol, p) {                                           \
    return p == nullptr || p->structSize < Type##_Params_STRUCT_SIZE \
               ? CUPTI_ERROR_INVALID_PARAMETER                       \
               : checked_##symbol(p);                                \
  }                                                                  \
  static CUptiResult checked_##symbol([[maybe_unused]] Type##_Params* p)

SIMGPU_RANGE_CALL(cuptiProfilerInitialize, CUpti_Profiler_Initialize) {
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiDeviceGetChipName, CUpti_Device_GetChipName) {
  p->pChipName = kChip;
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize) {
  if (p->pChipName == nullptr || std::strcmp(p->pChipName, kChip) != 0)
    return CUPTI_ERROR_INVALID_PARAMETER;
  p->pHostObject = the_host();
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize) {
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics) {
  for (std::size_t i = 0; i < p->numMetrics; ++i) {
    if (std::strstr(p->ppMetricNames[i], "__") == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize) {
  p->configImageSize = 1;
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage) {
  if (p->pConfigImage == nullptr || p->configImageSize < 1) return CUPTI_ERROR_INVALID_PARAMETER;
  *p->pConfigImage = 0;
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues) {
  if (p->rangeIndex != 0 || p->counterDataImageSize < sizeof(RangeData))
    return CUPTI_ERROR_INVALID_PARAMETER;
  RangeData data;
  std::memcpy(&data, p->pCounterDataImage, sizeof data);
  for (std::size_t i = 0; i < p->numMetrics; ++i) {
    const bool is_time = std::string_view(p->ppMetricNames[i]) == "gpu__time_duration.sum";
    p->pMetricValues[i] = is_time ? static_cast<double>(data.duration_ns)
                                  : kOfEveryKernel * static_cast<double>(data.kernels);
  }
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable) {
  if (p->ctx == nullptr || state().is_enabled) return CUPTI_ERROR_INVALID_OPERATION;
  state() = {};
  state().is_enabled = true;
  client().counts_ranges.store(true);
  observe_if_needed();
  p->pRangeProfilerObject = the_profiler();
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable) {
  if (!is_object(p->pRangeProfilerObject)) return CUPTI_ERROR_INVALID_PARAMETER;
  state() = {};
  client().counts_ranges.store(false);
  observe_if_needed();
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize) {
  // "must be >= maxNumOfRanges"
  if (p->maxNumRangeTreeNodes < p->maxNumOfRanges) return CUPTI_ERROR_INVALID_PARAMETER;
  p->counterDataSize = sizeof(RangeData);
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerCounterDataImageInitialize,
                  CUpti_RangeProfiler_CounterDataImage_Initialize) {
  if (p->counterDataSize < sizeof(RangeData)) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memset(p->pCounterData, 0, sizeof(RangeData));
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig) {
  if (!state().is_enabled || p->range != CUPTI_UserRange || p->replayMode != CUPTI_UserReplay ||
      p->maxRangesPerPass != 1 || p->counterDataImageSize < sizeof(RangeData)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  state().image = p->pCounterDataImage;
  state().passes = p->passIndex;
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start) {
  if (!state().is_enabled || state().image == nullptr || state().is_started)
    return CUPTI_ERROR_INVALID_OPERATION;
  state().is_started = true;
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange) {
  if (!state().is_started || state().is_pushed) return CUPTI_ERROR_INVALID_OPERATION;
  state().is_pushed = true;
  state().before = observed();
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange) {
  if (!state().is_pushed) return CUPTI_ERROR_INVALID_OPERATION;
  state().is_pushed = false;
  const RangeData now = observed();
  state().before = {now.kernels - state().before.kernels,
                    now.duration_ns - state().before.duration_ns};
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop) {
  if (!state().is_started || state().is_pushed) return CUPTI_ERROR_INVALID_OPERATION;
  state().is_started = false;
  ++state().passes;
  p->passIndex = state().passes;
  p->isAllPassSubmitted = state().passes >= kPasses ? 1 : 0;
  return CUPTI_SUCCESS;
}

SIMGPU_RANGE_CALL(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData) {
  if (!state().is_enabled || state().is_started || state().passes < kPasses)
    return CUPTI_ERROR_INVALID_OPERATION;
  std::memcpy(state().image, &state().before, sizeof(RangeData));
  p->numOfRangeDropped = 0;
  return CUPTI_SUCCESS;
}
