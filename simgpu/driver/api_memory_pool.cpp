// Memory pools.
#include "driver/call.hpp"
#include "driver/memory.hpp"

#include <cstring>
#include <memory>
#include <span>

using namespace simgpu;

namespace {

CUmemoryPool handle_of(const std::shared_ptr<MemoryPool>& pool) {
  return reinterpret_cast<CUmemoryPool>(pool.get());
}

std::shared_ptr<MemoryPool> pool_of(Simulator& s, CUmemoryPool handle) {
  const auto found = s.pools.find(reinterpret_cast<MemoryPool*>(handle));
  require_value(found != s.pools.end());
  return found->second;
}

template <typename Value>
Value value_at(const void* from) {
  Value value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

// "High watermark can only be reset to zero."
void reset_mark(std::uint64_t& mark, std::uint64_t current, const void* value) {
  require_value(value_at<cuuint64_t>(value) == 0);
  mark = current;
}

bool is_reuse(CUmemPool_attribute attribute) {
  return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
         attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

int& reuse_of(MemoryPool& pool, CUmemPool_attribute attribute) {
  return pool.reuse.at(
      static_cast<std::size_t>(attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES));
}

}  // namespace

namespace simgpu {

const std::shared_ptr<MemoryPool>& Simulator::default_pool(Device& device) {
  if (!device.default_pool) {
    device.default_pool = std::make_shared<MemoryPool>();
    device.default_pool->device = &device;
    pools[device.default_pool.get()] = device.default_pool;
  }
  return device.default_pool;
}

const std::shared_ptr<MemoryPool>& Simulator::current_pool(Device& device) {
  return device.pool ? device.pool : default_pool(device);
}

}  // namespace simgpu

SIMGPU_GET_OF(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool_v11020, kOther,
              handle_of(s.default_pool(s.device(device))), device)

SIMGPU_GET_OF(cuDeviceGetMemPool, cuDeviceGetMemPool_v11020, kOther,
              handle_of(s.current_pool(s.device(device))), device)

SIMGPU_CALL(cuDeviceSetMemPool, cuDeviceSetMemPool_v11020, kOther, device, pool) {
  const auto chosen = pool_of(s, pool);
  Device& owner = s.device(device);
  // cuda.h: "The memory pool must be local to the specified device."
  require_value(chosen->device == &owner);
  owner.pool = chosen;
}

SIMGPU_CALL(cuMemPoolCreate, cuMemPoolCreate_v11020, kAllocate, pool, properties) {
  require(pool);
  require(properties);
  require_value(properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
  // Pools of the host's memory, and such as other processes can open, are not simulated.
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  }
  auto made = std::make_shared<MemoryPool>();
  made->device = &s.device(properties->location.id);
  made->properties = *properties;
  *pool = handle_of(made);
  s.pools[made.get()] = made;
}

// cuda.h: "the resources associated with the pool will be released automatically once there are no
// more outstanding allocations"; "Destroying the current mempool of a device sets the default
// mempool of that device as the current mempool"; "A device's default memory pool cannot be
// destroyed."
SIMGPU_CALL(cuMemPoolDestroy, cuMemPoolDestroy_v11020, kAllocate, pool) {
  const auto doomed = pool_of(s, pool);
  Device& owner = *doomed->device;
  require_value(doomed != owner.default_pool);
  if (owner.pool == doomed) owner.pool = nullptr;
  s.pools.erase(doomed.get());
}

SIMGPU_CALL(cuMemPoolTrimTo, cuMemPoolTrimTo_v11020, kAllocate, pool, bytes_to_keep) {
  pool_of(s, pool)->keep(bytes_to_keep);
}

SIMGPU_CALL(cuMemPoolSetAttribute, cuMemPoolSetAttribute_v11020, kOther, pool, attribute, value) {
  require(value);
  MemoryPool& p = *pool_of(s, pool);
  if (is_reuse(attribute)) {
    reuse_of(p, attribute) = value_at<int>(value) != 0 ? 1 : 0;
  } else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    p.release_threshold = value_at<cuuint64_t>(value);
  } else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) {
    reset_mark(p.reserved_high, p.reserved, value);
  } else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
    reset_mark(p.used_high, p.used, value);
  } else {
    throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
}

SIMGPU_CALL(cuMemPoolGetAttribute, cuMemPoolGetAttribute_v11020, kOther, pool, attribute, value) {
  require(value);
  MemoryPool& p = *pool_of(s, pool);
  if (is_reuse(attribute)) {
    std::memcpy(value, &reuse_of(p, attribute), sizeof(int));
    return;
  }
  cuuint64_t bytes = 0;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      bytes = p.release_threshold;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      bytes = p.reserved;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      bytes = p.reserved_high;
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      bytes = p.used;
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      bytes = p.used_high;
      break;
    default:
      throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
  std::memcpy(value, &bytes, sizeof bytes);
}

SIMGPU_CALL(cuMemPoolSetAccess, cuMemPoolSetAccess_v11020, kOther, pool, descriptions, count) {
  require(descriptions);
  MemoryPool& p = *pool_of(s, pool);
  for (const CUmemAccessDesc& each : std::span(descriptions, count)) {
    require_value(each.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    const int device = s.device(each.location.id).index;
    // The header names no code for a pool that its own device cannot reach.
    require_value(device != p.device->index || each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    p.access[device] = each.flags;
  }
}

SIMGPU_CALL(cuMemPoolGetAccess, cuMemPoolGetAccess_v11020, kOther, flags, pool, location) {
  require(flags);
  require(location);
  const MemoryPool& p = *pool_of(s, pool);
  require_value(location->type == CU_MEM_LOCATION_TYPE_DEVICE);
  const int device = s.device(location->id).index;
  const auto found = p.access.find(device);
  *flags = device == p.device->index ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : found == p.access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                     : found->second;
}

SIMGPU_STREAM_CALL(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_v11020, kAllocate, address,
                   bytes, pool, stream) {
  const auto from = pool_of(s, pool);
  s.allocate_async(address, bytes, s.stream(stream, which), from);
}
