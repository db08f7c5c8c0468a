// Counts the calls of the allocator that replays of a graph make on the launching thread: those the
// library makes itself, and those of everybody, the simulated driver among them.
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>

namespace {

thread_local bool watching = false;
std::atomic<int> of_library{0};
std::atomic<int> of_all{0};
std::uintptr_t library_begin = 0;
std::uintptr_t library_end = 0;

// Where the library's code lies.
int find_library(dl_phdr_info* info, std::size_t /*size*/, void* /*unused*/) {
  if (std::strstr(info->dlpi_name, "libinline_prof") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    library_begin = info->dlpi_addr + part.p_vaddr;
    library_end = library_begin + part.p_memsz;
  }
  return 1;
}

void note(const void* caller) {
  if (!watching) return;
  of_all.fetch_add(1, std::memory_order_relaxed);
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address >= library_begin && address < library_end) {
    of_library.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

// The library's own references find these first; its operator new is inside it.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's own names
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* __libc_realloc(void*, std::size_t);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void* malloc(std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_malloc(size);
}
extern "C" void* calloc(std::size_t count, std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
extern "C" void* realloc(void* memory, std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}

int main() {
  dl_iterate_phdr(find_library, nullptr);
  host::open_context();
  const auto kernels = host::load_kernels({"kernel_1_", "kernel_2_"});
  CUstream stream = host::open_stream();
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (CUfunction kernel : kernels)
    CHECK(cuLaunchKernel(kernel, 16, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr));
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(stream, &graph));
  CUgraphExec exec = nullptr;
  watching = true;  // here the library may allocate, and does
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  watching = false;
  std::printf("instantiate: %d allocations of the library\n", of_library.exchange(0));

  // Until the schedule ends the program.
  for (int iteration = 1; iteration <= 1000000; ++iteration) {
    PROFILE_ITERATION();
    // Discovery may allocate; it is over with the tenth iteration.
    watching = iteration > 20;
    CHECK(cuGraphLaunch(exec, stream));
    watching = false;
    CHECK(cuStreamSynchronize(stream));
    if (iteration % 1000 == 0) {
      std::printf("%d replays: %d allocations of the library, %d in all\n", iteration,
                  of_library.load(), of_all.load());
      std::fflush(stdout);
    }
  }
  return 0;
}
