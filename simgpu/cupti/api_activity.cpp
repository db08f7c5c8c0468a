// Records of kernels, with their times.
#include "cupti/client.hpp"

#include <algorithm>
#include <cstring>

using namespace simgpu;

namespace {

using Record = CUpti_ActivityKernel10;

// Both kinds give the same record; that one of them serialises kernels is not simulated.
bool is_kernel_kind(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_KERNEL;
}

// cuptiActivityFlushAll: "Activity record is considered as completed if it has all the information
// filled up including the timestamps".
std::vector<Record> take_records(bool also_incomplete) {
  const auto now = static_cast<std::uint64_t>(cupti_driver()->host_now() + kClockOffsetNs);
  const std::lock_guard lock(client().mutex);
  auto& records = client().records;
  const auto rest = std::stable_partition(
      records.begin(), records.end(),
      [&](const Record& record) { return also_incomplete || record.end <= now; });
  std::vector<Record> taken(records.begin(), rest);
  records.erase(records.begin(), rest);
  return taken;
}

void drop(std::size_t count) {
  const std::lock_guard lock(client().mutex);
  client().dropped += count;
}

// Fills as many of the client's buffers as it takes.  Nothing is locked meanwhile.
void deliver(const std::vector<Record>& records) {
  const auto request = client().request_buffer.load();
  const auto complete = client().complete_buffer.load();
  for (std::size_t next = 0; next < records.size();) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0;
    request(&buffer, &size, &most);
    const std::size_t left = records.size() - next;
    std::size_t count = buffer == nullptr ? 0 : std::min(left, size / sizeof(Record));
    if (most > 0) count = std::min(count, most);
    if (count == 0) drop(left);
    if (buffer == nullptr) return;
    std::memcpy(buffer, records.data() + next, count * sizeof(Record));
    complete(nullptr, 0, buffer, size, count * sizeof(Record));
    if (count == 0) return;
    next += count;
  }
}

}  // namespace

SIMGPU_CALL(cuptiActivityEnable, kind) {
  if (!is_kernel_kind(kind)) return CUPTI_ERROR_INVALID_KIND;
  client().collects_kernels.store(true);
  observe_if_needed();
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiActivityDisable, kind) {
  if (!is_kernel_kind(kind)) return CUPTI_ERROR_INVALID_KIND;
  client().collects_kernels.store(false);
  observe_if_needed();
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiActivityRegisterCallbacks, request, complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  client().request_buffer.store(request);
  client().complete_buffer.store(complete);
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiActivityFlushAll, flag) {
  if (client().complete_buffer.load() == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  deliver(take_records((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0));
  return CUPTI_SUCCESS;
}

// Nothing is delivered unasked: there is no thread here whose period could be set.
SIMGPU_CALL(cuptiActivityFlushPeriod, unused) {
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiActivityGetNextRecord, buffer, valid_bytes, record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::uint8_t* next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + sizeof(Record);
  if (next + sizeof(Record) > buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return is_kernel_kind((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

SIMGPU_CALL(cuptiActivityGetNumDroppedRecords, unused, unused2, dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(client().mutex);
  *dropped = client().dropped;
  client().dropped = 0;
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiGetTimestamp, timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = static_cast<std::uint64_t>(cupti_driver()->host_now() + kClockOffsetNs);
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiGetContextId, context, id) {
  unsigned long long long_id = 0;
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (cupti_driver()->ctx_get_id(context, &long_id) != CUDA_SUCCESS) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  *id = static_cast<std::uint32_t>(long_id);
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiGetStreamId, unused, stream, id) {
  unsigned long long long_id = 0;
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (cupti_driver()->stream_get_id(stream, &long_id) != CUDA_SUCCESS) {
    return CUPTI_ERROR_INVALID_STREAM;
  }
  *id = static_cast<std::uint32_t>(long_id);
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiGetDeviceId, context, id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CuptiDriver& driver = *cupti_driver();
  CUcontext before = nullptr;
  CUdevice device = 0;
  driver.ctx_get_current(&before);
  CUresult result = context == nullptr ? CUDA_SUCCESS : driver.ctx_set_current(context);
  if (result == CUDA_SUCCESS) result = driver.ctx_get_device(&device);
  driver.ctx_set_current(before);
  *id = static_cast<std::uint32_t>(device);
  return result == CUDA_SUCCESS ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}
