// Defines operator new for this library alone: a process without memory loses its profile, and
// nothing else.
//
// The standard says that operator new throws if there is no memory, which would end the application
// in a function of ours that is noexcept, in a callback of the loader's, or if the exception itself
// has no room. So work that has begun is finished from a reserve, profiling ends, and no more
// memory is requested. A request that does not fit into the reserve throws.
//
// Left out of sanitizer builds: there the run-time library has an operator new of its own.
#include "sys/lifecycle.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace inline_prof::sys {
namespace {

// These stay zero pages of the kernel's until they are written.
constexpr std::size_t kReserveBytes = std::size_t{1} << 20U;
alignas(64) constinit char reserve[kReserveBytes] = {};
constinit std::atomic<std::size_t> reserve_used{0};

bool is_of_reserve(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(reserve) <
         kReserveBytes;
}

void* take_from_reserve(std::size_t size) noexcept {
  constexpr std::size_t alignment = 64;  // the largest of our types
  if (size > kReserveBytes) return nullptr;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  const std::size_t begin = reserve_used.fetch_add(rounded, std::memory_order_relaxed);
  if (begin > kReserveBytes - rounded) return nullptr;
  turn_off("memory", "there is none left");
  return reserve + begin;
}

void* allocate(std::size_t size) noexcept {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  return memory != nullptr ? memory : take_from_reserve(size);
}
void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  const auto bytes = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(bytes, (size + bytes - 1) / bytes * bytes);
  return memory != nullptr || bytes > 64 ? memory : take_from_reserve(size);
}
void release(void* memory) noexcept {
  if (!is_of_reserve(memory)) std::free(memory);
}

template <typename... Alignment>
void* allocate_or_throw(std::size_t size, Alignment... alignment) {
  void* const memory = allocate(size, alignment...);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
}  // namespace inline_prof::sys

// The standard library's own, for arrays, call these.
void* operator new(std::size_t size) {
  return inline_prof::sys::allocate_or_throw(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return inline_prof::sys::allocate_or_throw(size, alignment);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return inline_prof::sys::allocate(size);
}
void operator delete(void* memory) noexcept {
  inline_prof::sys::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  inline_prof::sys::release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  inline_prof::sys::release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  inline_prof::sys::release(memory);
}
