// The memory that the injected library has from malloc at most, by the callers' addresses: writes
// the bytes to the file HEAP_FILE when the program exits.
#include "inject/tools/library_code.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's names
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

LibraryCode library;  // empty before constructors run: nothing of the library's does
std::atomic<std::int64_t> now{0};
std::atomic<std::int64_t> most{0};

void* count(void* memory, const void* caller) {
  if (memory == nullptr || !library.contains(caller)) return memory;
  const std::int64_t bytes = now += static_cast<std::int64_t>(malloc_usable_size(memory));
  std::int64_t before = most;
  while (bytes > before && !most.compare_exchange_weak(before, bytes)) {
  }
  return memory;
}

[[gnu::constructor]] void begin() {
  library = code_of_library();
}

[[gnu::destructor]] void end() {
  const char* file = std::getenv("HEAP_FILE");
  std::FILE* stream = file == nullptr ? nullptr : std::fopen(file, "w");
  if (stream == nullptr) return;
  std::fprintf(stream, "%lld\n", static_cast<long long>(most));
  std::fclose(stream);
}

}  // namespace

extern "C" void* malloc(std::size_t size) {
  return count(__libc_malloc(size), __builtin_return_address(0));
}

extern "C" void* calloc(std::size_t number, std::size_t size) {
  return count(__libc_calloc(number, size), __builtin_return_address(0));
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return count(__libc_memalign(alignment, size), __builtin_return_address(0));
}

extern "C" void free(void* memory) {
  if (memory != nullptr && library.contains(__builtin_return_address(0)))
    now -= static_cast<std::int64_t>(malloc_usable_size(memory));
  __libc_free(memory);
}
