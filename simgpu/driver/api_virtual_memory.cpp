// Virtual memory management: addresses are reserved without pages, physical memory is a file in
// memory, and mapping puts the one into the other.
#include "driver/call.hpp"
#include "driver/ipc.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace simgpu;

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;  // as on the vendor's GPUs since 2017

struct Physical {
  int file = -1;
  std::size_t bytes = 0;
  Device* device = nullptr;
  CUmemAllocationProp properties{};

  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical() {
    if (device != nullptr) device->memory_used -= bytes;
    if (file >= 0) close(file);
  }
};

struct Mapping {
  std::size_t bytes = 0;
  std::shared_ptr<Physical> memory;
};

// Guarded by the simulator's mutex.
struct VirtualMemory {
  std::map<CUdeviceptr, std::size_t> reserved;
  std::map<CUdeviceptr, Mapping> mapped;
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>> handles;
  CUmemGenericAllocationHandle next = 1;
};

VirtualMemory& virtual_memory() {
  static auto* const all = new VirtualMemory;
  return *all;
}

void require_aligned(std::size_t bytes) {
  require_value(bytes > 0 && bytes % kGranularity == 0);
}

bool lies_in_reserved(CUdeviceptr address, std::size_t bytes) {
  const auto& reserved = virtual_memory().reserved;
  auto at = reserved.upper_bound(address);
  if (at == reserved.begin()) return false;
  --at;
  return address + bytes <= at->first + at->second;
}

std::shared_ptr<Physical>& physical(CUmemGenericAllocationHandle handle) {
  const auto found = virtual_memory().handles.find(handle);
  require_value(found != virtual_memory().handles.end());
  return found->second;
}

void put_pages_back(CUdeviceptr address, std::size_t bytes) {
  static_cast<void>(mmap(pointer(address), bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

}  // namespace

SIMGPU_CALL(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity_v10020, kOther,
            granularity, properties, unused) {
  require(granularity);
  require(properties);
  *granularity = kGranularity;
}

SIMGPU_CALL(cuMemAddressReserve, cuMemAddressReserve_v10020, kAllocate, address, bytes, alignment,
            unused, flags) {
  require(address);
  require_aligned(bytes);
  require_value(flags == 0 && (alignment & (alignment - 1)) == 0);
  const std::size_t step = std::max(alignment, kGranularity);
  void* base =
      mmap(nullptr, bytes + step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  const auto from = reinterpret_cast<CUdeviceptr>(base);
  const CUdeviceptr aligned = (from + step - 1) / step * step;
  if (aligned > from) munmap(base, aligned - from);
  munmap(pointer(aligned + bytes), from + step - aligned);
  virtual_memory().reserved[aligned] = bytes;
  *address = aligned;
}

SIMGPU_CALL(cuMemAddressFree, cuMemAddressFree_v10020, kAllocate, address, bytes) {
  auto& all = virtual_memory();
  const auto found = all.reserved.find(address);
  require_value(found != all.reserved.end() && found->second == bytes);
  const auto mapped = all.mapped.lower_bound(address);
  require_value(mapped == all.mapped.end() || mapped->first >= address + bytes);
  munmap(pointer(address), bytes);
  all.reserved.erase(found);
}

SIMGPU_CALL(cuMemCreate, cuMemCreate_v10020, kAllocate, handle, bytes, properties, flags) {
  require(handle);
  require(properties);
  require_aligned(bytes);
  require_value(flags == 0 && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED);
  // Memory of the host, and what other processes could open, is not simulated.
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  }
  Device& device = s.device(properties->location.id);
  if (bytes > s.model.device.memory_bytes - device.memory_used) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  }
  auto made = std::make_shared<Physical>();
  made->file = make_memory_file(bytes);
  if (made->file < 0) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  }
  made->bytes = bytes;
  made->properties = *properties;
  made->device = &device;
  device.memory_used += bytes;
  *handle = virtual_memory().next++;
  virtual_memory().handles[*handle] = std::move(made);
}

// cuda.h: the memory goes "once all mappings ... are unmapped", too.
SIMGPU_CALL(cuMemRelease, cuMemRelease_v10020, kAllocate, handle) {
  static_cast<void>(physical(handle));
  virtual_memory().handles.erase(handle);
}

SIMGPU_CALL(cuMemMap, cuMemMap_v10020, kAllocate, address, bytes, offset, handle, flags) {
  require_aligned(bytes);
  const auto& memory = physical(handle);
  // cuda.h: "offset - must be zero".
  require_value(flags == 0 && offset == 0 && bytes <= memory->bytes &&
                lies_in_reserved(address, bytes));
  require_value(s.memory.find(address) == nullptr);
  // Until cuMemSetAccess the device may not touch it.
  void* at = mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, 0);
  if (at == MAP_FAILED) throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
  virtual_memory().mapped[address] = {.bytes = bytes, .memory = memory};
  Allocation& known = *s.memory.adopt(s.current(), at, bytes, 0);
  known.kind = MemoryKind::kDevice;
}

SIMGPU_CALL(cuMemUnmap, cuMemUnmap_v10020, kAllocate, address, bytes) {
  auto& mapped = virtual_memory().mapped;
  const CUdeviceptr end = address + bytes;
  require_value(mapped.contains(address));
  for (auto at = mapped.find(address); at != mapped.end() && at->first < end;) {
    require_value(at->first + at->second.bytes <= end);
    put_pages_back(at->first, at->second.bytes);
    if (const Allocation* known = s.memory.find(at->first); known != nullptr) {
      s.memory.release(*known);
    }
    at = mapped.erase(at);
  }
}

SIMGPU_CALL(cuMemSetAccess, cuMemSetAccess_v10020, kAllocate, address, bytes, access, count) {
  require(access);
  require_value(count > 0 && lies_in_reserved(address, bytes));
  // One address space: what one device may do, all may.
  int rights = PROT_NONE;
  for (size_t i = 0; i < count; ++i) {
    if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) rights |= PROT_READ | PROT_WRITE;
    if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ) rights |= PROT_READ;
  }
  if (mprotect(pointer(address), bytes, rights) != 0) throw Failure{CUDA_ERROR_INVALID_VALUE};
}

SIMGPU_GET_OF(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle_v10020,
              kOther, physical(handle)->properties, handle)
