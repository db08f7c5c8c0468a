// Memory of a thread, beyond a few bytes.
//
// Our thread-local variables are initial-exec: the default model may call malloc on a thread's
// first access, inside a hook. A library that is loaded late gets such memory from a surplus that
// all of them share, 1,664 bytes in glibc 2.36, so only pointers are kept there.
#pragma once

#include <cstddef>
#include <new>

namespace inline_prof::sys {

// Allocates `size` bytes until the calling thread ends; then `destroy` is called on them and
// `place`, a thread-local pointer to them, becomes null again. Null if there is no memory.
[[nodiscard]] void* allocate_for_thread(std::size_t size, void** place,
                                        void (*destroy)(void*) noexcept) noexcept;

// Use as
//   constinit thread_local PerThread<Notes> notes;      // of the initial-exec model
// Null where there is no memory, or where nothing was made and `make()` was not asked to.
template <typename T>
class PerThread {
 public:
  [[nodiscard]] T* get() const noexcept { return static_cast<T*>(place_); }

  [[nodiscard]] T* make() noexcept {
    if (place_ != nullptr) [[likely]]
      return get();
    void* const memory = allocate_for_thread(sizeof(T), &place_,
                                             [](void* at) noexcept { static_cast<T*>(at)->~T(); });
    if (memory == nullptr) return nullptr;
    place_ = new (memory) T{};
    return get();
  }

 private:
  void* place_ = nullptr;
};

}  // namespace inline_prof::sys
