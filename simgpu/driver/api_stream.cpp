// Streams, and the memory operations on them.
#include "driver/call.hpp"
#include "driver/observed.hpp"

using namespace simgpu;

namespace {

void create(Simulator& s, CUstream* stream, unsigned flags, int priority) {
  require(stream);
  require_value((flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) == 0);
  // cuda.h, cuStreamCreateWithPriority: "will automatically be clamped to the lowest or the highest
  // number in the range".
  *stream = reinterpret_cast<CUstream>(
      &s.create_stream(s.current(), flags, std::min(0, std::max(-5, priority))));
}

void destroy(Simulator& s, CUstream stream) {
  Stream& doomed = s.stream(stream, kLegacy);
  if (doomed.kind != StreamKind::kCreated) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  s.destroy_stream(doomed);
}

// Programming Guide, "Prohibited and Unhandled Operations": "It is invalid to synchronize or query
// the execution status of a stream which is being captured".
void refuse_capturing(Simulator& s, Stream& stream) {
  if (s.capturing(stream)) s.refuse_stream_query(stream);
  s.refuse_if_unsafe();
}

CUresult query(Simulator& s, Stream& stream) {
  refuse_capturing(s, stream);
  return s.finished(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

void synchronize(Simulator& s, Stream& stream) {
  refuse_capturing(s, stream);
  s.synchronize(stream);
}

void wait_event(Simulator& s, Stream& stream, CUevent handle, unsigned flags) {
  require_value((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) == 0);
  const auto event = s.event(handle);
  if (event->capture) return s.capture_wait(stream, *event);
  if (s.capturing(stream)) {
    // cuda.h, CUDA_ERROR_STREAM_CAPTURE_ISOLATION: "a dependency would have been created which
    // crosses the capture sequence boundary".
    if ((flags & CU_EVENT_WAIT_EXTERNAL) == 0) s.refuse_isolation(stream);
    s.capture_node(stream, WaitWork{event});
    return;
  }
  // cuda.h, CU_EVENT_WAIT_EXTERNAL: "This flag is invalid outside of stream capture."
  require_value((flags & CU_EVENT_WAIT_EXTERNAL) == 0);
  s.wait_for(stream, *event);
}

void wait_value(Simulator& s, Stream& stream, CUdeviceptr address, std::uint64_t value, bool wide,
                unsigned flags) {
  constexpr unsigned known = CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH;
  require_value((flags & ~known) == 0);
  const Allocation* memory = s.memory.find(static_cast<std::uintptr_t>(address));
  // cuda.h: "This function cannot be used with managed memory".
  require_value(memory != nullptr && memory->kind != MemoryKind::kManaged &&
                address % (wide ? 8 : 4) == 0);
  s.wait_value(stream, {.address = address, .value = value, .is_64_bit = wide, .flags = flags});
}

void write_value(Simulator& s, Stream& stream, CUdeviceptr address, std::uint64_t value, bool wide,
                 unsigned flags) {
  require_value((flags & ~static_cast<unsigned>(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)) == 0);
  const Allocation* memory = s.memory.find(static_cast<std::uintptr_t>(address));
  require_value(memory != nullptr && address % (wide ? 8 : 4) == 0);
  s.write_value(stream, address, value, wide);
}

}  // namespace

SIMGPU_CALL(cuStreamCreate, cuStreamCreate_v2000, kAllocate, stream, flags) {
  create(s, stream, flags, 0);
}

SIMGPU_CALL(cuStreamCreateWithPriority, cuStreamCreateWithPriority_v5050, kAllocate, stream, flags,
            priority) {
  create(s, stream, flags, priority);
}

SIMGPU_FUNCTION(cuStreamDestroy, cuStreamDestroy_v2000, stream) {
  tell_of_doomed_stream(stream);
  return perform(entry, Cost::kOther, [&](Simulator& s) { destroy(s, stream); });
}

SIMGPU_FUNCTION(cuStreamDestroy_v2, cuStreamDestroy_v4000, stream) {
  tell_of_doomed_stream(stream);
  return perform(entry, Cost::kOther, [&](Simulator& s) { destroy(s, stream); });
}

SIMGPU_STREAM_FUNCTION(cuStreamQuery, cuStreamQuery_v2000, stream) {
  return call(entry, Cost::kQuery, [&](Simulator& s) { return query(s, s.stream(stream, which)); });
}

SIMGPU_STREAM_CALL(cuStreamSynchronize, cuStreamSynchronize_v2000, kWait, stream) {
  synchronize(s, s.stream(stream, which));
}

SIMGPU_STREAM_CALL(cuStreamWaitEvent, cuStreamWaitEvent_v3020, kWait, stream, event, flags) {
  wait_event(s, s.stream(stream, which), event, flags);
}

SIMGPU_STREAM_GET(cuStreamGetPriority, cuStreamGetPriority_v5050, kNone,
                  s.stream(stream, which).priority)

SIMGPU_STREAM_GET(cuStreamGetFlags, cuStreamGetFlags_v5050, kNone, s.stream(stream, which).flags)

SIMGPU_STREAM_GET(cuStreamGetId, cuStreamGetId_v12000, kNone, s.stream(stream, which).id)
SIMGPU_STREAM_GET(cuStreamGetDevice, cuStreamGetDevice_v12080, kNone,
                  s.stream(stream, which).context->device->index)
SIMGPU_STREAM_GET(cuStreamGetCtx, cuStreamGetCtx_v9020, kNone,
                  reinterpret_cast<CUcontext>(s.stream(stream, which).context))

SIMGPU_STREAM_CALL(cuStreamGetCtx_v2, cuStreamGetCtx_v12050, kNone, stream, context, green) {
  require(context);
  // cuda.h: the green context, or "NULL if the stream is not associated with a green context".
  *context = reinterpret_cast<CUcontext>(s.stream(stream, which).context);
  if (green != nullptr) *green = nullptr;
}

#define SIMGPU_STREAM_VALUE(symbol, typed, work, bits)                      \
  SIMGPU_STREAM_CALL(symbol, typed, kWait, stream, address, value, flags) { \
    work(s, s.stream(stream, which), address, value, (bits) == 64, flags);  \
  }
SIMGPU_STREAM_VALUE(cuStreamWaitValue32, cuStreamWaitValue32_v8000, wait_value, 32)
SIMGPU_STREAM_VALUE(cuStreamWriteValue32, cuStreamWriteValue32_v8000, write_value, 32)
SIMGPU_STREAM_VALUE(cuStreamWaitValue64, cuStreamWaitValue64_v9000, wait_value, 64)
SIMGPU_STREAM_VALUE(cuStreamWriteValue64, cuStreamWriteValue64_v9000, write_value, 64)
SIMGPU_STREAM_VALUE(cuStreamWaitValue32_v2, cuStreamWaitValue32_v11070, wait_value, 32)
SIMGPU_STREAM_VALUE(cuStreamWriteValue32_v2, cuStreamWriteValue32_v11070, write_value, 32)
SIMGPU_STREAM_VALUE(cuStreamWaitValue64_v2, cuStreamWaitValue64_v11070, wait_value, 64)
SIMGPU_STREAM_VALUE(cuStreamWriteValue64_v2, cuStreamWriteValue64_v11070, write_value, 64)

SIMGPU_STREAM_CALL(cuLaunchHostFunc, cuLaunchHostFunc_v10000, kLaunch, stream, function, data) {
  require_value(function != nullptr);
  s.call_host(s.stream(stream, which), function, data);
}
