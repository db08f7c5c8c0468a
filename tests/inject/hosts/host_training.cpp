// A small training program on the driver API: contexts, streams and kernels as options ask, and a
// check of its own after every call that nothing of its thread was changed.
//
// Prints "host ok" and exits with 0 if all is as it should be.
#include "host.hpp"

namespace {

struct Options {
  host::Arguments given;
  int iterations = given.number("--iterations", 200);
  int devices = given.number("--devices", 1);
  int streams = given.number("--streams", 1);
  int threads = given.number("--threads", 1);
  int repeats = given.number("--repeats", 3);  // launches of kernel_a in an iteration
  // In each iteration, each with a name of its own.
  int labels_of_one_use = given.number("--labels-of-one-use", 0);
  // The iterations before which the program raises SIGUSR1 and SIGTERM.
  int usr1_at = given.number("--usr1-at", -1);
  int usr1_again_at = given.number("--usr1-again-at", -1);
  int term_at = given.number("--term-at", -1);
  bool no_boundaries = given.has("--no-boundaries");
  bool no_labels = given.has("--no-labels");
  bool data = given.has("--data");
  bool unit_tests = given.has("--unit-tests");  // each step is a run of one of two unit tests
  bool synchronise = given.has("--sync");       // after each iteration
  // The simulated GPU was told to fail.
  bool expect_launch_error = given.has("--expect-launch-error");
  bool stop_without_start = given.has("--stop-without-start");
  bool start_without_stop = given.has("--start-without-stop");
  bool capture = given.has("--capture");
  // Two threads call through a site that neither has seen filled.
  bool share_a_site = given.has("--share-a-site");
  // Another thread launches kernel_c on the first stream all the time.
  bool hammer = given.has("--hammer");
  bool exit_when_finished = given.has("--exit-when-finished");
  // Half-way
  bool fork = given.has("--fork");
  bool vfork = given.has("--vfork");
  bool destroy_stream = given.has("--destroy-stream");  // a busy stream goes and comes back
  bool reset_device = given.has("--reset-device");
  bool stuck = given.has("--stuck");  // the stream waits for a value that never comes
};

struct Device {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUfunction a = nullptr;
  CUfunction b = nullptr;
  CUfunction c = nullptr;
  std::vector<CUstream> streams;
};

std::atomic<long> launches{0};

// The application's own view of its thread must be the same before and after each launch.
void launch(const Options& options, const Device& device, CUfunction function, CUstream stream) {
  CUcontext before = nullptr;
  CUcontext after = nullptr;
  CHECK(cuCtxGetCurrent(&before));
  errno = 4711;
  const CUresult result =
      cuLaunchKernel(function, 16, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr);
  if (errno != 4711) host::fail("errno was changed by a launch", errno);
  CHECK(cuCtxGetCurrent(&after));
  if (before != after || before != device.context) host::fail("another context is current", 0);
  if (options.expect_launch_error) {
    if (result == CUDA_SUCCESS) host::fail("the launch should have failed", result);
    return;
  }
  host::check(result, "cuLaunchKernel");
  launches.fetch_add(1);
}

Device open_device(int number, const Options& options) {
  Device device;
  CHECK(cuDeviceGet(&device.device, number));
  device.context = host::open_context(number);
  const auto kernels = host::load_kernels({"kernel_a", "kernel_b", "kernel_c"});
  device.a = kernels[0];
  device.b = kernels[1];
  device.c = kernels[2];
  device.streams.resize(static_cast<std::size_t>(options.streams));
  for (CUstream& stream : device.streams)
    stream = host::open_stream();
  return device;
}

void captured_step(const Options& options, const Device& device, CUstream stream) {
  CUgraph graph = host::captured(stream, [&] {
    launch(options, device, device.a, stream);
    launch(options, device, device.b, stream);
  });
  std::size_t nodes = 0;
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  if (nodes != 2) host::fail("nodes in the captured graph", static_cast<int>(nodes));
  CUgraphExec exec = host::instantiated(graph);
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

void step(const Options& options, const Device& device, CUstream stream) {
  const int number = device.device;
  PROFILE_SCOPE("Top", stream);
  if (!options.no_labels) {
    PROFILE_RECORD("step.start", stream, number);
    PROFILE_OP("step.gemm", "gemm", "m", 128, "n", 64, "k", 32, "a_type", "f16");
    PROFILE_RECORD("step.gemm.start", stream, number);
  }
  launch(options, device, device.b, stream);
  if (!options.no_labels) PROFILE_RECORD("step.gemm.stop", stream, number);
  for (int i = 0; i < options.repeats; ++i)
    launch(options, device, device.a, stream);
  if (!options.no_labels) PROFILE_RECORD("step.stop", stream, number);
  launch(options, device, device.c, stream);
  for (int i = 0; i < options.labels_of_one_use; ++i) {
    static std::atomic<long> used{0};
    const std::string name = "label" + std::to_string(used.fetch_add(1));
    PROFILE_RECORD((name + ".start").c_str(), stream, number);
    PROFILE_RECORD((name + ".stop").c_str(), stream, number);
  }
  if (options.stop_without_start) PROFILE_RECORD("never_started.stop", stream, number);
  if (options.start_without_stop) PROFILE_RECORD("never_stopped.start", stream, number);
  if (options.data && PROFILE_RECORD_DATA("batch", stream))
    static_cast<void>(PROFILE_RECORD_DATA("batch", stream, std::string("6912"), number));
}

void step_on_all_streams(const Options& options, Device& device) {
  CHECK(cuCtxSetCurrent(device.context));
  if (options.threads == 1) {
    for (CUstream stream : device.streams)
      step(options, device, stream);
    return;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i) {
    CUstream stream = device.streams[static_cast<std::size_t>(i) % device.streams.size()];
    threads.emplace_back([&options, &device, stream] {
      CHECK(cuCtxSetCurrent(device.context));
      step(options, device, stream);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

// The second thread's call comes after the first one's, which only the clock knows: what the site
// holds by then reaches it through the site alone.  The macros read the site's gate before they
// call; a thread that has found it empty calls with what the other one has stored since, as here.
void share_a_site() {
  const inline_prof_abi* const table = inline_prof_table();
  if (table == nullptr) return;
  static inline_prof_site site = {nullptr, nullptr};
  std::atomic<int> turn{0};
  const auto call = [table, &turn](int mine) {
    while (turn.load(std::memory_order_relaxed) != mine)
      std::this_thread::yield();
    table->record(&site, "shared.start", nullptr, INLINE_PROF_DEVICE_UNKNOWN, 0, nullptr);
    turn.store(mine + 1, std::memory_order_relaxed);
  };
  std::thread first(call, 0);
  std::thread second(call, 1);
  first.join();
  second.join();
}

// Launches on the first stream until told to stop.
class Hammer {
 public:
  Hammer(const Options& options, const Device& device)
      : thread_([this, &options, &device] {
          CHECK(cuCtxSetCurrent(device.context));
          while (!stop_.load())
            launch(options, device, device.c, device.streams[0]);
        }) {}
  ~Hammer() {
    stop_.store(true);
    thread_.join();
  }
  Hammer(const Hammer&) = delete;
  Hammer& operator=(const Hammer&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void block_for_ever(CUstream stream) {
  void* memory = nullptr;
  CUdeviceptr address = 0;
  CHECK(cuMemHostAlloc(&memory, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(memory, 0, 64);
  CHECK(cuMemHostGetDevicePointer(&address, memory, 0));
  CHECK(cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_EQ));
}

void fork_a_child() {
  const pid_t child = fork();
  if (child < 0) host::fail("fork", errno);
  if (child == 0) std::exit(7);  // runs the exit handlers, ours among them
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) host::fail("the forked child", status);
}

void start_a_program() {
  const pid_t child = vfork();
  if (child < 0) host::fail("vfork", errno);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 9", static_cast<char*>(nullptr));
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 9) host::fail("the started program", status);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options{.given = {argc, argv}};
  options.given.expect_none_left();
  INITIALIZE_PROFILER(false, options.exit_when_finished);
  CHECK(cuInit(0));
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(options.devices));
  for (int i = 0; i < options.devices; ++i)
    devices.push_back(open_device(i, options));

  if (options.share_a_site) share_a_site();
  std::optional<Hammer> hammer;
  if (options.hammer) hammer.emplace(options, devices[0]);
  for (int i = 0; i < options.iterations; ++i) {
    if (i == options.usr1_at || i == options.usr1_again_at) std::raise(SIGUSR1);
    if (i == options.term_at) {
      std::raise(SIGTERM);
      while (true)  // the signal ends the program, a moment later at most
        usleep(1000);
    }
    if (!options.no_boundaries) PROFILE_ITERATION();
    if (options.unit_tests) PROFILE_UNIT_TEST_START(i % 2 == 0 ? "even" : "odd");
    for (Device& device : devices)
      step_on_all_streams(options, device);
    if (options.unit_tests) PROFILE_UNIT_TEST_STOP();
    if (options.capture) captured_step(options, devices[0], devices[0].streams[0]);
    if (options.synchronise) {
      for (Device& device : devices) {
        CHECK(cuCtxSetCurrent(device.context));
        CHECK(cuCtxSynchronize());
      }
    }
    if (i != options.iterations / 2) continue;
    if (options.fork) fork_a_child();
    if (options.vfork) start_a_program();
    if (options.stuck) block_for_ever(devices[0].streams[0]);
    if (options.destroy_stream) {
      CHECK(cuStreamSynchronize(devices[0].streams[0]));
      CHECK(cuStreamDestroy(devices[0].streams[0]));
      CHECK(cuStreamCreate(&devices[0].streams[0], CU_STREAM_NON_BLOCKING));
    }
    if (options.reset_device) {
      CHECK(cuDevicePrimaryCtxReset(devices[0].device));
      devices[0] = open_device(0, options);
    }
  }
  hammer.reset();
  for (Device& device : devices) {
    if (options.stuck) break;
    CHECK(cuCtxSetCurrent(device.context));
    CHECK(cuCtxSynchronize());
  }
  std::printf("host ok, %ld launches\n", launches.load());
  std::fflush(stdout);  // before what the injected library says at the end
  return 0;
}
