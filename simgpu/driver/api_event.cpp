// Events.
#include "driver/call.hpp"

#include <cmath>

using namespace simgpu;

namespace {

void record(Simulator& s, CUevent handle, Stream& stream, unsigned flags) {
  require_value((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) == 0);
  const auto event = s.event(handle);
  // cuda.h: "hEvent and hStream must be from the same context otherwise CUDA_ERROR_INVALID_HANDLE
  // is returned."
  if (event->context != stream.context) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  const bool external = (flags & CU_EVENT_RECORD_EXTERNAL) != 0;
  if (!s.capturing(stream)) {
    // CU_EVENT_RECORD_EXTERNAL: "This flag is invalid outside of stream capture."
    require_value(!external);
    s.record(stream, event);
  } else if (external) {
    s.capture_node(stream, RecordWork{event});
  } else {
    s.capture_record(stream, *event);
  }
}

void destroy(Simulator& s, CUevent handle) {
  const auto event = s.event(handle);
  s.event_owner.erase(event.get());
  event->context->events.erase(event.get());
}

// Time stamp of a finished record, rounded down to the resolution of the device's clock.
double stamp_ns(const Simulator& s, const Event& event) {
  const auto end = static_cast<double>(event.record->end);
  const double step = s.model.events.resolution_us * 1e3;
  return step > 0 ? std::floor(end / step) * step : end;
}

CUresult elapsed(Simulator& s, float* milliseconds, CUevent start, CUevent end) {
  require(milliseconds);
  const auto first = s.event(start);
  const auto last = s.event(end);
  s.refuse_if_captured(*first);
  s.refuse_if_captured(*last);
  // cuda.h, cuEventElapsedTime: INVALID_HANDLE without a record or with CU_EVENT_DISABLE_TIMING,
  // then NOT_READY.  Both events must be from one context (cudaEventElapsedTime measures one
  // device).
  for (const auto* event : {first.get(), last.get()}) {
    if (!event->record || (event->flags & CU_EVENT_DISABLE_TIMING) != 0) {
      throw Failure{CUDA_ERROR_INVALID_HANDLE};
    }
  }
  if (first->context != last->context) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  if (!s.finished(*first) || !s.finished(*last)) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>((stamp_ns(s, *last) - stamp_ns(s, *first)) * 1e-6);
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_CALL(cuEventCreate, cuEventCreate_v2000, kOther, event, flags) {
  require(event);
  constexpr unsigned known =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  require_value((flags & ~known) == 0);
  // cuda.h: "CU_EVENT_INTERPROCESS must be specified along with CU_EVENT_DISABLE_TIMING."
  require_value((flags & CU_EVENT_INTERPROCESS) == 0 || (flags & CU_EVENT_DISABLE_TIMING) != 0);
  Context& context = s.current();
  auto owned = std::make_shared<Event>();
  owned->context = &context;
  owned->flags = flags;
  s.event_owner[owned.get()] = &context;
  *event = reinterpret_cast<CUevent>(owned.get());
  Event* key = owned.get();
  context.events.emplace(key, std::move(owned));
}

SIMGPU_CALL(cuEventDestroy, cuEventDestroy_v2000, kOther, event) {
  destroy(s, event);
}

SIMGPU_CALL(cuEventDestroy_v2, cuEventDestroy_v4000, kOther, event) {
  destroy(s, event);
}

SIMGPU_FUNCTION(cuEventQuery, cuEventQuery_v2000, event) {
  return call(entry, Cost::kQuery, [&](Simulator& s) {
    const auto asked = s.event(event);
    s.refuse_if_captured(*asked);
    s.refuse_if_unsafe();
    return s.finished(*asked) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

SIMGPU_CALL(cuEventSynchronize, cuEventSynchronize_v2000, kWait, event) {
  const auto asked = s.event(event);
  s.refuse_if_captured(*asked);
  s.refuse_if_unsafe();
  s.synchronize(*asked);
}

SIMGPU_FUNCTION(cuEventElapsedTime, cuEventElapsedTime_v2000, milliseconds, start, end) {
  return call(entry, Cost::kQuery,
              [&](Simulator& s) { return elapsed(s, milliseconds, start, end); });
}

SIMGPU_FUNCTION(cuEventElapsedTime_v2, cuEventElapsedTime_v12080, milliseconds, start, end) {
  return call(entry, Cost::kQuery,
              [&](Simulator& s) { return elapsed(s, milliseconds, start, end); });
}

SIMGPU_STREAM_CALL(cuEventRecord, cuEventRecord_v2000, kRecord, event, stream) {
  record(s, event, s.stream(stream, which), CU_EVENT_RECORD_DEFAULT);
}

SIMGPU_STREAM_CALL(cuEventRecordWithFlags, cuEventRecordWithFlags_v11010, kRecord, event, stream,
                   flags) {
  record(s, event, s.stream(stream, which), flags);
}
