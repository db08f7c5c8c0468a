// Streams, and the memory operations on them.
#include "driver/call.hpp"
#include "driver/observed.hpp"

using namespace inline_prof::simgpu;

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

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { create(s, stream, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kAllocate, [&](Simulator& s) { create(s, stream, flags, priority); });
}

CUresult cuStreamDestroy(CUstream stream) {
  static const DriverEntry entry{__func__};
  tell_of_doomed_stream(stream);
  return perform(entry, Cost::kOther, [&](Simulator& s) { destroy(s, stream); });
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  static const DriverEntry entry{__func__};
  tell_of_doomed_stream(stream);
  return perform(entry, Cost::kOther, [&](Simulator& s) { destroy(s, stream); });
}

CUresult cuStreamQuery(CUstream stream) {
  static const DriverEntry entry{__func__};
  return call(entry, Cost::kQuery,
              [&](Simulator& s) { return query(s, s.stream(stream, kLegacy)); });
}

CUresult cuStreamQuery_ptsz(CUstream stream) {
  static const DriverEntry entry{__func__};
  return call(entry, Cost::kQuery,
              [&](Simulator& s) { return query(s, s.stream(stream, kPerThread)); });
}

CUresult cuStreamSynchronize(CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait,
                 [&](Simulator& s) { synchronize(s, s.stream(stream, kLegacy)); });
}

CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait,
                 [&](Simulator& s) { synchronize(s, s.stream(stream, kPerThread)); });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait,
                 [&](Simulator& s) { wait_event(s, s.stream(stream, kLegacy), event, flags); });
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait,
                 [&](Simulator& s) { wait_event(s, s.stream(stream, kPerThread), event, flags); });
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(priority);
    *priority = s.stream(stream, kLegacy).priority;
  });
}

CUresult cuStreamGetPriority_ptsz(CUstream stream, int* priority) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(priority);
    *priority = s.stream(stream, kPerThread).priority;
  });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(flags);
    *flags = s.stream(stream, kLegacy).flags;
  });
}

CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned int* flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(flags);
    *flags = s.stream(stream, kPerThread).flags;
  });
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(id);
    *id = s.stream(stream, kLegacy).id;
  });
}

CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long* id) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(id);
    *id = s.stream(stream, kPerThread).id;
  });
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(device);
    *device = s.stream(stream, kLegacy).context->device->index;
  });
}

CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice* device) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(device);
    *device = s.stream(stream, kPerThread).context->device->index;
  });
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(context);
    *context = reinterpret_cast<CUcontext>(s.stream(stream, kLegacy).context);
  });
}

CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(context);
    *context = reinterpret_cast<CUcontext>(s.stream(stream, kPerThread).context);
  });
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(context);
    // cuda.h: the green context, or "NULL if the stream is not associated with a green context".
    *context = reinterpret_cast<CUcontext>(s.stream(stream, kLegacy).context);
    if (green != nullptr) *green = nullptr;
  });
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kNone, [&](Simulator& s) {
    require(context);
    // cuda.h: the green context, or "NULL if the stream is not associated with a green context".
    *context = reinterpret_cast<CUcontext>(s.stream(stream, kPerThread).context);
    if (green != nullptr) *green = nullptr;
  });
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                             unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kLegacy), address, value, false, flags);
  });
}

CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                  unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kPerThread), address, value, false, flags);
  });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kLegacy), address, value, false, flags);
  });
}

CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                   unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kPerThread), address, value, false, flags);
  });
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                             unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kLegacy), address, value, true, flags);
  });
}

CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                  unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kPerThread), address, value, true, flags);
  });
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kLegacy), address, value, true, flags);
  });
}

CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                   unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kPerThread), address, value, true, flags);
  });
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kLegacy), address, value, false, flags);
  });
}

CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                     unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kPerThread), address, value, false, flags);
  });
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                 unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kLegacy), address, value, false, flags);
  });
}

CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                      unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kPerThread), address, value, false, flags);
  });
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kLegacy), address, value, true, flags);
  });
}

CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                     unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    wait_value(s, s.stream(stream, kPerThread), address, value, true, flags);
  });
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                 unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kLegacy), address, value, true, flags);
  });
}

CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                      unsigned int flags) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kWait, [&](Simulator& s) {
    write_value(s, s.stream(stream, kPerThread), address, value, true, flags);
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kLaunch, [&](Simulator& s) {
    require_value(function != nullptr);
    s.call_host(s.stream(stream, kLegacy), function, data);
  });
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
  static const DriverEntry entry{__func__};
  return perform(entry, Cost::kLaunch, [&](Simulator& s) {
    require_value(function != nullptr);
    s.call_host(s.stream(stream, kPerThread), function, data);
  });
}
