// Counts what the library does while the application launches kernels that are not measured: calls
// of the allocator, of mutexes and of clocks that the launching thread makes during the launches.
//
// With a second argument the allocator fails during one launch that the library has not seen
// before.
//
// Expects SIMGPU_LAUNCH=null, so that the driver itself does none of these.
#include "host.hpp"

#include <inline_prof/profile.h>

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>

namespace {

// Of this thread: the library's own thread may lock what it likes.
thread_local bool watching = false;
std::atomic<bool> failing{false};  // the allocator
std::atomic<int> allocations{0};
std::atomic<int> locks{0};
std::atomic<int> clocks{0};

void note(std::atomic<int>& counter) {
  if (watching) counter.fetch_add(1, std::memory_order_relaxed);
}

// One place in the code, so that a call site's first use is not among what is watched.
void record_labels(CUstream stream) {
  PROFILE_RECORD("never_armed.start", stream);
  PROFILE_RECORD("never_armed.stop", stream);
}

}  // namespace

// The library's own references find these first.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's own name
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) {
  note(allocations);
  return failing.load(std::memory_order_relaxed) ? nullptr : __libc_malloc(size);
}
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const real =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  note(locks);
  return real(mutex);
}
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real =
      reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  note(clocks);
  return real(clock, time);
}

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 20;
  host::open_context();
  const auto kernels = host::load_kernels({"armed", "other", "unknown"});
  CUfunction armed = kernels[0];
  CUfunction other = kernels[1];
  CUfunction unknown = kernels[2];
  // By address, as the runtime does it: only such addresses lead to the driver that does nothing.
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  CHECK(cuGetProcAddress_v2("cuLaunchKernel", &address, 4000, 0, &status));
  const auto launch_kernel = reinterpret_cast<decltype(&cuLaunchKernel)>(address);
  CUstream stream = host::open_stream();

  for (int i = 1; i <= iterations; ++i) {
    PROFILE_ITERATION();
    CHECK(launch_kernel(armed, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    for (int launch = 0; launch < 4; ++launch) {  // the first iteration meets each of them
      CHECK(launch_kernel(other, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    }
    record_labels(stream);
    // The first iteration meets each launch, and the sixth, with which discovery starts afresh.
    watching = i != 1 && i != 6;
    for (int launch = 0; launch < 996; ++launch) {
      CHECK(launch_kernel(other, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    }
    if (i > 12) record_labels(stream);  // gates are shut once the warm-up is over
    watching = false;
    if (i == 5 && argc > 2) {
      // A kernel's first launch in the warm-up is where the library must allocate.
      failing.store(true);
      const CUresult launched =
          launch_kernel(unknown, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
      failing.store(false);
      CHECK(launched);
    }
  }
  std::printf("host ok, %d allocations, %d locks, %d clock reads\n", allocations.load(),
              locks.load(), clocks.load());
  return 0;
}
