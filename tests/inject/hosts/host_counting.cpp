// Counts the calls of the allocator, of mutexes and of clocks that the launching thread makes:
//
//   host_counting launches   while kernels are launched that are not measured
//   host_counting failure    the same, and the allocator fails during one launch that is new
//   host_counting replays    while a graph is replayed, of which kernels are measured; the calls
//   that
//                            the library makes itself, and those of all, the simulated driver's too
//
// "launches" and "failure" expect SIMGPU_LAUNCH=null, so that the driver itself makes no such
// calls.
#include "host.hpp"
#include "inject/tools/library_code.hpp"

#include <ctime>

namespace {

thread_local bool is_counted = false;  // the library's own thread may lock what it likes
std::atomic<bool> failing{false};      // the allocator
std::atomic<int> allocations{0};
std::atomic<int> allocations_of_library{0};
std::atomic<int> locks{0};
std::atomic<int> clocks{0};
LibraryCode library;

void count(std::atomic<int>& counter) {
  if (is_counted) counter.fetch_add(1, std::memory_order_relaxed);
}

void count_allocation(const void* caller) {
  count(allocations);
  if (library.contains(caller)) count(allocations_of_library);
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The library's own references find these first; its operator new is inside it.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's own names
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* __libc_realloc(void*, std::size_t);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void* malloc(std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return failing.load(std::memory_order_relaxed) ? nullptr : __libc_malloc(size);
}
extern "C" void* calloc(std::size_t number, std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_calloc(number, size);
}
extern "C" void* realloc(void* memory, std::size_t size) {
  count_allocation(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const real = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  count(locks);
  return real(mutex);
}
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  count(clocks);
  return real(clock, time);
}

namespace {

// One place in the code, so that a call site's first use is not counted.
void record_labels(CUstream stream) {
  PROFILE_RECORD("never_armed.start", stream);
  PROFILE_RECORD("never_armed.stop", stream);
}

int count_launches(bool with_failure) {
  const auto kernels = host::load_kernels({"armed", "other", "unknown"});
  // By address, as the runtime does it: only such addresses lead to the driver that does nothing.
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  CHECK(cuGetProcAddress_v2("cuLaunchKernel", &address, 4000, 0, &status));
  const auto launch_kernel = reinterpret_cast<decltype(&cuLaunchKernel)>(address);
  CUstream stream = host::open_stream();
  const auto launch = [&](CUfunction kernel, int times) {
    for (int i = 0; i < times; ++i)
      CHECK(launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  };
  for (int i = 1; i <= 20; ++i) {
    PROFILE_ITERATION();
    launch(kernels[0], 1);
    launch(kernels[1], 4);
    record_labels(stream);
    // Launches are new in the first iteration, and in the sixth, with which discovery starts
    // afresh.
    is_counted = i != 1 && i != 6;
    launch(kernels[1], 996);
    if (i > 12) record_labels(stream);  // gates are closed once the warm-up is over
    is_counted = false;
    if (i == 5 && with_failure) {
      // A kernel's first launch in the warm-up is where the library must allocate.
      failing.store(true);
      const CUresult launched =
          launch_kernel(kernels[2], 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
      failing.store(false);
      CHECK(launched);
    }
  }
  std::printf("host ok, %d allocations, %d locks, %d clock reads\n", allocations.load(),
              locks.load(), clocks.load());
  return 0;
}

int count_replays() {
  library = code_of_library();
  const auto kernels = host::load_kernels({"kernel_1_", "kernel_2_"});
  CUstream stream = host::open_stream();
  CUgraph graph = host::captured(stream, [&] {
    for (CUfunction kernel : kernels)
      host::launch(kernel, stream, 16, 128);
  });
  is_counted = true;  // here the library may allocate, and does
  CUgraphExec exec = host::instantiated(graph);
  is_counted = false;
  std::printf("instantiate: %d allocations of the library\n", allocations_of_library.exchange(0));
  allocations = 0;
  // Until the schedule ends the program.
  for (int iteration = 1; iteration <= 1000000; ++iteration) {
    PROFILE_ITERATION();
    // Discovery may allocate; it is over with the tenth iteration.
    is_counted = iteration > 20;
    CHECK(cuGraphLaunch(exec, stream));
    is_counted = false;
    CHECK(cuStreamSynchronize(stream));
    if (iteration % 1000 == 0) {
      std::printf("%d replays: %d allocations of the library, %d in all\n", iteration,
                  allocations_of_library.load(), allocations.load());
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  host::open_context();
  return mode == "replays" ? count_replays() : count_launches(mode == "failure");
}
