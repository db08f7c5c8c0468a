#include "driver/memory.hpp"

#include "driver/ipc.hpp"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace simgpu {
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
  const std::size_t on_device = counts_on_device(kind) ? mapped : 0;
  context.device->memory_used += on_device;
  const auto key = reinterpret_cast<std::uintptr_t>(base);
  return &(allocations_[key] = {.base = key,
                                .bytes = bytes,
                                .mapped_bytes = mapped,
                                .device_bytes = on_device,
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

bool Memory::share(Allocation& allocation) {
  if (allocation.file >= 0) return true;
  const int file = make_memory_file(allocation.mapped_bytes);
  if (file < 0) return false;
  const auto* const pages = reinterpret_cast<const char*>(allocation.base);
  for (std::size_t at = 0; at < allocation.mapped_bytes; at += kPage) {
    const char* const page = pages + at;
    // A page of zeros stays a hole.
    if (*page == 0 && std::memcmp(page, page + 1, kPage - 1) == 0) continue;
    if (pwrite(file, page, kPage, static_cast<off_t>(at)) != static_cast<ssize_t>(kPage)) {
      close(file);
      return false;
    }
  }
  if (mmap(reinterpret_cast<void*>(allocation.base), allocation.mapped_bytes,
           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED) {
    close(file);
    return false;
  }
  allocation.file = file;
  return true;
}

Allocation* Memory::open(Context& context, int file, std::size_t bytes) {
  void* const base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  const auto key = reinterpret_cast<std::uintptr_t>(base);
  return &(allocations_[key] = {.base = key,
                                .bytes = bytes,
                                .mapped_bytes = bytes,
                                .kind = MemoryKind::kDevice,
                                .context = &context,
                                .file = file});
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

void Memory::note_copy(const void* to, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(to);
  copies_.erase(copies_.lower_bound(begin), copies_.lower_bound(begin + bytes));
  copies_[begin] = bytes;
}

bool Memory::holds_part_of_copy(const void* at, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  auto copy = copies_.upper_bound(begin);
  if (copy == copies_.begin()) return false;
  --copy;
  const bool is_whole = copy->first == begin && copy->second == bytes;
  return begin - copy->first < copy->second && !is_whole;
}

void Memory::release(const Allocation& allocation) {
  copies_.erase(copies_.lower_bound(allocation.base),
                copies_.lower_bound(allocation.base + allocation.bytes));
  allocation.context->device->memory_used -= allocation.device_bytes;
  if (allocation.mapped_bytes > 0) {
    munmap(reinterpret_cast<void*>(allocation.base), allocation.mapped_bytes);
  }
  if (allocation.file >= 0) close(allocation.file);
  if (allocation.pool) allocation.pool->give_back(allocation.device_bytes);
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

}  // namespace simgpu
