#include "driver/memory.hpp"

#include <sys/mman.h>
#include <vector>

namespace inline_prof::simgpu {
namespace {

// cuMemAlloc promises alignment "for any kind of variable"; a page is more than that and lets each
// allocation be given back by itself.
constexpr std::size_t kPage = 4096;

bool counts_on_device(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
}

}  // namespace

Allocation* Memory::allocate(Context& context, std::size_t bytes, MemoryKind kind, unsigned flags) {
  const std::size_t mapped = (bytes + kPage - 1) / kPage * kPage;
  if (mapped < bytes) return nullptr;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  if (counts_on_device(kind)) context.device->memory_used += mapped;
  const auto key = reinterpret_cast<std::uintptr_t>(base);
  return &(allocations_[key] = {.base = key,
                                .bytes = bytes,
                                .mapped_bytes = mapped,
                                .kind = kind,
                                .context = &context,
                                .flags = flags});
}

Allocation* Memory::adopt(Context& context, void* base, std::size_t bytes, unsigned flags) {
  const auto key = reinterpret_cast<std::uintptr_t>(base);
  return &(allocations_[key] = {.base = key,
                                .bytes = bytes,
                                .mapped_bytes = 0,
                                .kind = MemoryKind::kRegistered,
                                .context = &context,
                                .flags = flags});
}

Allocation* Memory::find(std::uintptr_t address) {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  --it;
  return address - it->second.base < it->second.bytes ? &it->second : nullptr;
}

bool Memory::is_device(const void* address) {
  const Allocation* allocation = find(reinterpret_cast<std::uintptr_t>(address));
  return allocation != nullptr && counts_on_device(allocation->kind);
}

void Memory::release(const Allocation& allocation) {
  if (counts_on_device(allocation.kind)) {
    allocation.context->device->memory_used -= allocation.mapped_bytes;
  }
  if (allocation.mapped_bytes > 0) {
    munmap(reinterpret_cast<void*>(allocation.base), allocation.mapped_bytes);
  }
  allocations_.erase(allocation.base);
}

void Memory::release_all_of(const Context& context) {
  std::vector<std::uintptr_t> bases;
  for (const auto& [base, allocation] : allocations_) {
    if (allocation.context == &context) bases.push_back(base);
  }
  for (const auto base : bases)
    release(allocations_.at(base));
}

}  // namespace inline_prof::simgpu
