// Memory: allocation and what is known about addresses.
#include "driver/call.hpp"
#include "driver/node_params.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace simgpu;

namespace {

Allocation& allocate(Simulator& s, Context& context, size_t bytes, MemoryKind kind,
                     unsigned flags = 0) {
  require_value(bytes > 0);
  const bool on_device = kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
  if (on_device && bytes > s.model.device.memory_bytes - context.device->memory_used) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  }
  Allocation* made = s.memory.allocate(context, bytes, kind, flags);
  if (made == nullptr) throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  return *made;
}

// The allocation that starts at `address`.
Allocation& exactly(Simulator& s, std::uintptr_t address) {
  Allocation* found = s.memory.find(address);
  require_value(found != nullptr && found->base == address);
  return *found;
}

// Memory of an allocation node stays where it is: the next launch of its graph allocates it again.
// cuda.h, cuGraphAddMemAllocNode: allocations that are freed in their graph "cannot be freed
// outside the owning graph".
bool free_in_graph(Simulator& s, CUdeviceptr address) {
  const auto memory = graph_memory_at(s, address);
  if (memory == nullptr) return false;
  require_value(memory->is_live);
  memory->is_live = false;
  return true;
}

// cuda.h, cuMemFree: no implicit synchronisation for memory of cuMemAllocAsync; "For all other
// pointers, this API may perform implicit synchronization."
void free_device(Simulator& s, CUdeviceptr address) {
  if (address == 0) return;
  s.refuse_if_unsafe();
  Allocation& doomed = exactly(s, static_cast<std::uintptr_t>(address));
  require_value(doomed.kind == MemoryKind::kDevice || doomed.kind == MemoryKind::kManaged);
  if (free_in_graph(s, address)) return;
  if (!doomed.stream_ordered) s.synchronize(*doomed.context);
  s.memory.release(doomed);
}

// The memory goes when the stream comes to it; touching it later is the host's error, as on a GPU.
void free_async(Simulator& s, CUdeviceptr address, Stream& stream) {
  Allocation& doomed = exactly(s, static_cast<std::uintptr_t>(address));
  require_value(doomed.kind == MemoryKind::kDevice);
  if (s.capturing(stream)) {
    s.capture_node(stream, free_work(s, *stream.capture->graph, address));
    return;
  }
  if (free_in_graph(s, address)) return;
  s.engine.submit(stream, {.run = [&s, base = doomed.base](Nanoseconds start) {
                    if (Allocation* at = s.memory.find(base); at != nullptr) s.memory.release(*at);
                    return start;
                  }});
}

}  // namespace

void Simulator::allocate_async(CUdeviceptr* address, std::size_t bytes, Stream& stream,
                               const std::shared_ptr<MemoryPool>& pool) {
  require(address);
  if (capturing(stream)) {
    AllocateWork work = allocate_work(*this, *stream.capture->graph, *stream.context, bytes);
    *address = work.memory->address();
    capture_node(stream, std::move(work));
    return;
  }
  const std::uint64_t most = pool->properties.maxSize;
  if (most > 0 && bytes > most - std::min(most, pool->used)) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  }
  Allocation& made = allocate(*this, *stream.context, bytes, MemoryKind::kDevice);
  made.stream_ordered = true;
  made.pool = pool;
  pool->take(made.device_bytes);
  *address = made.base;
}

SIMGPU_CALL(cuMemGetInfo_v2, cuMemGetInfo_v3020, kOther, free_bytes, total) {
  const Context& context = s.current();
  if (total != nullptr) *total = s.model.device.memory_bytes;
  if (free_bytes != nullptr) {
    *free_bytes = s.model.device.memory_bytes - context.device->memory_used;
  }
}

SIMGPU_CALL(cuMemAlloc_v2, cuMemAlloc_v3020, kAllocate, address, bytes) {
  require(address);
  s.refuse_if_unsafe();
  *address = allocate(s, s.current(), bytes, MemoryKind::kDevice).base;
}

SIMGPU_CALL(cuMemAllocPitch_v2, cuMemAllocPitch_v3020, kAllocate, address, pitch, width, height,
            element_bytes) {
  require(address);
  require(pitch);
  require_value(element_bytes == 4 || element_bytes == 8 || element_bytes == 16);
  s.refuse_if_unsafe();
  *pitch = (width + 511) / 512 * 512;
  *address = allocate(s, s.current(), *pitch * height, MemoryKind::kDevice).base;
}

SIMGPU_CALL(cuMemAllocManaged, cuMemAllocManaged_v6000, kAllocate, address, bytes, flags) {
  require(address);
  require_value(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
  s.refuse_if_unsafe();
  *address = allocate(s, s.current(), bytes, MemoryKind::kManaged, flags).base;
}

SIMGPU_CALL(cuMemFree_v2, cuMemFree_v3020, kAllocate, address) {
  free_device(s, address);
}

SIMGPU_CALL(cuMemAllocHost_v2, cuMemAllocHost_v3020, kAllocate, host, bytes) {
  require(host);
  s.refuse_if_unsafe();
  *host = pointer(allocate(s, s.current(), bytes, MemoryKind::kHost).base);
}

SIMGPU_CALL(cuMemHostAlloc, cuMemHostAlloc_v2020, kAllocate, host, bytes, flags) {
  require(host);
  constexpr unsigned known =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  require_value((flags & ~known) == 0);
  s.refuse_if_unsafe();
  *host = pointer(allocate(s, s.current(), bytes, MemoryKind::kHost, flags).base);
}

SIMGPU_CALL(cuMemFreeHost, cuMemFreeHost_v2000, kAllocate, host) {
  s.refuse_if_unsafe();
  Allocation& doomed = exactly(s, reinterpret_cast<std::uintptr_t>(host));
  require_value(doomed.kind == MemoryKind::kHost);
  s.synchronize(*doomed.context);
  s.memory.release(doomed);
}

SIMGPU_CALL(cuMemHostRegister_v2, cuMemHostRegister_v6050, kAllocate, host, bytes, flags) {
  require(host);
  require_value(bytes > 0);
  s.refuse_if_unsafe();
  if (s.memory.find(reinterpret_cast<std::uintptr_t>(host)) != nullptr) {
    throw Failure{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED};
  }
  s.memory.adopt(s.current(), host, bytes, flags);
}

SIMGPU_CALL(cuMemHostUnregister, cuMemHostUnregister_v4000, kAllocate, host) {
  s.refuse_if_unsafe();
  Allocation* at = s.memory.find(reinterpret_cast<std::uintptr_t>(host));
  if (at == nullptr || at->kind != MemoryKind::kRegistered) {
    throw Failure{CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED};
  }
  s.memory.release(*at);
}

SIMGPU_CALL(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer_v3020, kOther, address, host,
            flags) {
  require(address);
  require_value(flags == 0);  // cuda.h: "for now, it must be set to 0"
  const auto at = reinterpret_cast<std::uintptr_t>(host);
  const Allocation* owner = s.memory.find(at);
  require_value(owner != nullptr &&
                (owner->kind == MemoryKind::kHost || owner->kind == MemoryKind::kRegistered));
  *address = at;  // one address space
}

SIMGPU_CALL(cuMemHostGetFlags, cuMemHostGetFlags_v2030, kOther, flags, host) {
  require(flags);
  const Allocation* owner = s.memory.find(reinterpret_cast<std::uintptr_t>(host));
  require_value(owner != nullptr && owner->kind == MemoryKind::kHost);
  *flags = owner->flags;
}

SIMGPU_CALL(cuMemGetAddressRange_v2, cuMemGetAddressRange_v3020, kOther, base, bytes, address) {
  const Allocation* at = s.memory.find(static_cast<std::uintptr_t>(address));
  if (at == nullptr) throw Failure{CUDA_ERROR_NOT_FOUND};
  if (base != nullptr) *base = at->base;
  if (bytes != nullptr) *bytes = at->bytes;
}

SIMGPU_CALL(cuPointerGetAttribute, cuPointerGetAttribute_v4000, kOther, data, attribute, address) {
  require(data);
  const Allocation* at = s.memory.find(static_cast<std::uintptr_t>(address));
  require_value(at != nullptr);
  const bool on_host = at->kind == MemoryKind::kHost || at->kind == MemoryKind::kRegistered;
  const auto put = [&](const auto& value) { std::memcpy(data, &value, sizeof value); };
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      put(reinterpret_cast<std::uintptr_t>(at->context));
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      put(on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      put(address);
      break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require_value(on_host || at->kind == MemoryKind::kManaged);
      put(address);
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put(static_cast<unsigned char>(at->kind == MemoryKind::kManaged ? 1 : 0));
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put(at->context->device->index);
      break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:  // "Otherwise returns NULL."
      put(reinterpret_cast<CUmemoryPool>(at->pool.get()));
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      put(static_cast<CUdeviceptr>(at->base));
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      put(at->bytes);
      break;
    default:
      throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  }
}

SIMGPU_STREAM_CALL(cuMemAllocAsync, cuMemAllocAsync_v11020, kAllocate, address, bytes, stream) {
  Stream& to = s.stream(stream, which);
  s.allocate_async(address, bytes, to, s.current_pool(*to.context->device));
}

SIMGPU_STREAM_CALL(cuMemFreeAsync, cuMemFreeAsync_v11020, kAllocate, address, stream) {
  free_async(s, address, s.stream(stream, which));
}
