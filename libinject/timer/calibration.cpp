#include "timer/calibration.hpp"

#include "sys/quiet_thread.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

namespace inline_prof::timer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPairs = 64;
constexpr std::size_t kPairsPerHold =
    16;  // two records and at most nine launches each: far below any queue limit
// Pairs around one kernel and these more; each stands for that many, so that few are enough.
constexpr int kKernelsAdded = 8;
constexpr std::size_t kChainPairs = 16;
constexpr auto kLongestHold = std::chrono::milliseconds(2);
constexpr auto kLongestMeasure = std::chrono::milliseconds(20);

// Polls of an event between two readings of the clock.
constexpr int kPollsPerCheck = 64;

// A pair that is not ready after this time and this many checks never will be. The thread yields
// after each check, so on a busy machine 20 ms of processor time can take half a minute.
constexpr auto kLongestWait = std::chrono::milliseconds(200);
constexpr int kFewestChecks = 16;

// PTX and not a cubin: the driver translates it for every GPU it supports.  An entry that returns.
constexpr char kEmptyKernel[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry inline_prof_empty_kernel()\n"
    "{\n"
    "  ret;\n"
    "}\n";

std::chrono::nanoseconds thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Measures the time that this thread spent on one measurement; time of other threads does not
// count. Checks are microseconds apart. Where they are not, another thread had the processor.
class TimeSpent {
 public:
  [[nodiscard]] bool is_too_long() {
    const auto now = thread_time();
    spent_ += std::min<std::chrono::nanoseconds>(now - last_look_, kMostBetweenLooks);
    last_look_ = now;
    return spent_ > kLongestMeasure;
  }

 private:
  static constexpr auto kMostBetweenLooks = std::chrono::milliseconds(1);
  std::chrono::nanoseconds last_look_ = thread_time();
  std::chrono::nanoseconds spent_{0};
};

double percentile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

// A hold lasts 2 ms at most where launches do not block, longer if the thread does not get to run.
// The thread below checks twice before it ends one.
constexpr long kCheckNanoseconds = 150'000'000;

// A thread that ends a hold. Work is held back behind a value that the GPU waits for in host
// memory. Where a launch returns only after it has run (CUDA_LAUNCH_BLOCKING, tools that run one
// kernel at a time), the holding thread never gets to store that value, and this thread stores it.
class HoldLimit {
 public:
  HoldLimit() = default;
  HoldLimit(const HoldLimit&) = delete;
  HoldLimit& operator=(const HoldLimit&) = delete;
  // Waits until the thread has ended.
  ~HoldLimit() {
    if (!is_running_) return;
    is_over_.store(true, std::memory_order_release);
    sem_post(&wake_);
    pthread_join(thread_, nullptr);
    sem_destroy(&wake_);
  }

  // Returns false if there is no thread; then nothing may be held.
  [[nodiscard]] bool start(volatile std::uint32_t* flag) {
    flag_ = flag;
    if (sem_init(&wake_, 0, 0) != 0) return false;
    is_running_ = sys::start_quiet_thread(thread_, &HoldLimit::main, this) == 0;
    if (!is_running_) sem_destroy(&wake_);
    return is_running_;
  }

  // Begins a hold, which ends after some milliseconds at the latest. Holds are counted upwards from
  // 1.
  void begin(std::uint32_t hold) { hold_.store(hold, std::memory_order_release); }
  void end() { hold_.store(0, std::memory_order_release); }

  // Returns true if a hold had to be ended.
  [[nodiscard]] bool has_ended_one() const {
    return has_ended_one_.load(std::memory_order_acquire);
  }

 private:
  static void* main(void* self) {
    static_cast<HoldLimit*>(self)->loop();
    return nullptr;
  }

  void loop() {
    std::uint32_t seen = 0;
    while (!is_over_.load(std::memory_order_acquire)) {
      const timespec until = sys::from_now(kCheckNanoseconds);
      static_cast<void>(sem_timedwait(&wake_, &until));
      const std::uint32_t hold = hold_.load(std::memory_order_acquire);
      if (hold != 0 && hold == seen && !is_over_.load(std::memory_order_acquire)) {
        has_ended_one_.store(true, std::memory_order_release);
        // A store for a hold that is over does no harm: a later hold waits for a larger number.
        __atomic_store_n(flag_, hold, __ATOMIC_RELEASE);
      }
      seen = hold;
    }
  }

  volatile std::uint32_t* flag_ = nullptr;
  std::atomic<std::uint32_t> hold_{0};
  std::atomic<bool> has_ended_one_{false};
  std::atomic<bool> is_over_{false};
  sem_t wake_{};
  pthread_t thread_{};
  bool is_running_ = false;
};

void add_note(std::string& notes, const std::string& note) {
  notes.append(notes.empty() ? "" : "; ").append(note);
}

class Calibrator {
 public:
  explicit Calibrator(int device_id) : device_id_(device_id) {}
  Calibrator(const Calibrator&) = delete;
  Calibrator& operator=(const Calibrator&) = delete;

  ~Calibrator() {
    release();  // never leave a stream waiting
    limit_.reset();
    const auto& cuda = sys::cuda();
    for (Pair& pair : pairs_) {
      if (pair.start != nullptr) cuda.cuEventDestroy(pair.start);
      if (pair.stop != nullptr) cuda.cuEventDestroy(pair.stop);
    }
    if (stream_ != nullptr) cuda.cuStreamDestroy(stream_);
    if (module_ != nullptr) cuda.cuModuleUnload(module_);
    if (flag_ != nullptr) cuda.cuMemFreeHost(const_cast<std::uint32_t*>(flag_));
  }

  CalibrationResult run() {
    CalibrationResult result;
    if (!create(result.note)) return result;
    load_kernel(result.note);
    warm_up();
    is_stuck_ = false;  // the first pair may take longer than any other
    measure("idle", &Calibrator::fill_idle, result);
    if (const char* reason = why_no_hold(); reason != nullptr) {
      add_note(result.note, std::string("no busy calibration: ") + reason);
    } else {
      measure("busy", &Calibrator::fill_busy, result);
      if (limit_->has_ended_one())
        add_note(result.note, "busy calibration cut short: launches wait until they have run");
    }
    if (sys::graph_api().can_time_nodes() && sys::graph_api().add_kernel != nullptr)
      measure("graph", &Calibrator::fill_graph, result);
    return result;
  }

 private:
  struct Pair {
    CUevent start = nullptr;
    CUevent stop = nullptr;
  };
  // Appends `count` times of pairs around `kernels` kernels.
  using Fill = bool (Calibrator::*)(int kernels, std::size_t count, std::vector<double>& times_us);

  bool create(std::string& note) {
    const auto& cuda = sys::cuda();
    if (cuda.cuStreamCreate == nullptr || cuda.cuStreamDestroy == nullptr ||
        cuda.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
      note = "no calibration: no stream of our own";
      return false;
    }
    for (Pair& pair : pairs_) {
      if (cuda.cuEventCreate(&pair.start, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
          cuda.cuEventCreate(&pair.stop, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
        note = "no calibration: no events";
        return false;
      }
    }
    return true;
  }

  void load_kernel(std::string& note) {
    const auto& cuda = sys::cuda();
    if (cuda.cuModuleLoadData == nullptr || cuda.cuModuleUnload == nullptr ||
        cuda.cuModuleGetFunction == nullptr || cuda.cuLaunchKernel == nullptr ||
        cuda.cuModuleLoadData(&module_, kEmptyKernel) != CUDA_SUCCESS) {
      module_ = nullptr;
      note = "no empty-kernel pairs: the driver refused the module";
      return;
    }
    if (cuda.cuModuleGetFunction(&kernel_, module_, "inline_prof_empty_kernel") != CUDA_SUCCESS) {
      kernel_ = nullptr;
      note = "no empty-kernel pairs: the kernel was not found";
    }
  }

  // The first pair and the first launch include lazy initialization.
  void warm_up() {
    time_spent_ = TimeSpent();
    std::vector<double> discarded;
    if (record_pair(pairs_[0], kernel_ != nullptr ? 1 : 0)) read_pair(pairs_[0], discarded);
  }

  const char* why_no_hold() {
    const auto& cuda = sys::cuda();
    // With one hardware queue the application's other work would wait behind ours.
    const char* connections =
        std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");  // NOLINT(concurrency-mt-unsafe): only read
    if (connections != nullptr && std::strcmp(connections, "1") == 0)
      return "CUDA_DEVICE_MAX_CONNECTIONS is 1";
    // A blocking launch behind the wait would never return.
    const char* blocking =
        std::getenv("CUDA_LAUNCH_BLOCKING");  // NOLINT(concurrency-mt-unsafe): only read
    if (blocking != nullptr && std::strcmp(blocking, "") != 0 && std::strcmp(blocking, "0") != 0)
      return "CUDA_LAUNCH_BLOCKING is set";
    if (cuda.cuStreamWaitValue32 == nullptr || cuda.cuMemHostAlloc == nullptr ||
        cuda.cuMemFreeHost == nullptr || cuda.cuMemHostGetDevicePointer == nullptr)
      return "the driver has no stream memory operations";
    void* memory = nullptr;
    if (cuda.cuMemHostAlloc(&memory, 64, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) !=
        CUDA_SUCCESS)
      return "no pinned memory";
    flag_ = static_cast<volatile std::uint32_t*>(memory);
    *flag_ = 0;
    if (cuda.cuMemHostGetDevicePointer(&device_flag_, memory, 0) != CUDA_SUCCESS)
      return "pinned memory has no device address";
    limit_ = std::make_unique<HoldLimit>();
    if (!limit_->start(flag_)) return "no thread that could end a hold";
    return nullptr;
  }

  void release() noexcept {
    if (limit_) limit_->end();
    // A plain store is enough: the memory is host memory that the GPU polls.
    if (flag_ != nullptr) __atomic_store_n(flag_, holds_, __ATOMIC_RELEASE);
  }

  bool record_pair(const Pair& pair, int kernels) {
    const auto& cuda = sys::cuda();
    if (cuda.cuEventRecord(pair.start, stream_) != CUDA_SUCCESS) return false;
    for (int i = 0; i < kernels; ++i) {
      if (cuda.cuLaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr) !=
          CUDA_SUCCESS) {
        return false;
      }
    }
    return cuda.cuEventRecord(pair.stop, stream_) == CUDA_SUCCESS;
  }

  // Polls, since a synchronizing call could block for ever.
  bool read_pair(const Pair& pair, std::vector<double>& times_us) {
    const auto& cuda = sys::cuda();
    const auto begin = Clock::now();
    CUresult state = CUDA_SUCCESS;
    for (int polls = 1; (state = cuda.cuEventQuery(pair.stop)) == CUDA_ERROR_NOT_READY; ++polls) {
      if (polls % kPollsPerCheck != 0) continue;
      if (time_spent_.is_too_long()) return false;
      is_stuck_ = polls >= kFewestChecks * kPollsPerCheck && Clock::now() - begin > kLongestWait;
      if (is_stuck_) return false;
      sched_yield();
    }
    float elapsed_ms = 0;
    if (state != CUDA_SUCCESS ||
        cuda.elapsed_ms(&elapsed_ms, pair.start, pair.stop) != CUDA_SUCCESS) {
      return false;
    }
    times_us.push_back(static_cast<double>(elapsed_ms) * 1e3);
    return true;
  }

  bool fill_idle(int kernels, std::size_t count, std::vector<double>& times_us) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!record_pair(pairs_[0], kernels) || !read_pair(pairs_[0], times_us)) return false;
    }
    return true;
  }

  bool fill_busy(int kernels, std::size_t count, std::vector<double>& times_us) {
    while (times_us.size() < count) {
      ++holds_;
      limit_->begin(holds_);
      if (sys::cuda().cuStreamWaitValue32(stream_, device_flag_, holds_,
                                          CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS) {
        release();
        return false;
      }
      const auto held_since = Clock::now();
      bool recorded = true;
      std::size_t queued = 0;
      // A hold that a loaded machine ends early has fewer pairs, and the last one fills up.
      const std::size_t wanted = std::min(kPairsPerHold, count - times_us.size());
      while (recorded && queued < wanted && Clock::now() - held_since < kLongestHold) {
        recorded = record_pair(pairs_[queued], kernels);
        if (recorded) ++queued;
      }
      release();
      if (limit_->has_ended_one()) {  // launches did not wait
        times_us.clear();
        return false;
      }
      for (std::size_t i = 0; i < queued; ++i) {
        if (!read_pair(pairs_[i], times_us)) return false;
      }
      if (!recorded || queued == 0 || time_spent_.is_too_long()) return false;
    }
    return true;
  }

  // A chain of nodes: start, the kernels, stop.
  class PairGraph {
   public:
    PairGraph(const Pair& pair, CUfunction kernel, int kernels) {
      const auto& api = sys::graph_api();
      CUgraphNode last = nullptr;
      CUgraphNode next = nullptr;
      CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
      parameters.func = kernel;
      parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
      parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
      if (api.create(&graph_, 0) != CUDA_SUCCESS) {
        graph_ = nullptr;
        return;
      }
      if (api.add_event_record(&last, graph_, nullptr, 0, pair.start) != CUDA_SUCCESS) return;
      for (int i = 0; i < kernels; ++i) {
        if (api.add_kernel(&next, graph_, &last, 1, &parameters) != CUDA_SUCCESS) return;
        last = next;
      }
      if (api.add_event_record(&next, graph_, &last, 1, pair.stop) != CUDA_SUCCESS ||
          api.instantiate(&exec_, graph_, 0) != CUDA_SUCCESS)
        exec_ = nullptr;
    }
    ~PairGraph() {
      const auto& api = sys::graph_api();
      if (exec_ != nullptr) api.destroy_exec(exec_);
      if (graph_ != nullptr) api.destroy(graph_);
    }
    PairGraph(const PairGraph&) = delete;
    PairGraph& operator=(const PairGraph&) = delete;

    [[nodiscard]] bool launch(CUstream stream) const {
      return exec_ != nullptr && sys::graph_api().launch(exec_, stream) == CUDA_SUCCESS;
    }

   private:
    CUgraph graph_ = nullptr;
    CUgraphExec exec_ = nullptr;
  };

  bool fill_graph(int kernels, std::size_t count, std::vector<double>& times_us) {
    const PairGraph graph(pairs_[0], kernel_, kernels);
    std::vector<double> first;  // pays for the upload
    if (!graph.launch(stream_) || !read_pair(pairs_[0], first)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!graph.launch(stream_) || !read_pair(pairs_[0], times_us)) return false;
    }
    return true;
  }

  // Returns as many times as could be read before the time limit.
  std::vector<double> filled(Fill fill, int kernels, std::size_t count) {
    std::vector<double> times_us;
    times_us.reserve(count);
    time_spent_ = TimeSpent();
    if (!is_stuck_) (this->*fill)(kernels, count, times_us);
    return times_us;
  }

  void measure(const char* state, Fill fill, CalibrationResult& result) {
    std::vector<double> times_us = filled(fill, 0, kPairs);
    if (times_us.empty()) {
      return add_note(fill == &Calibrator::fill_graph ? result.graph_note : result.note,
                      std::string(state) + ": no pair could be read");
    }
    record::Calibration calibration{.device_id = device_id_,
                                    .state = state,
                                    .empty_pair = distribution_of(times_us),
                                    .empty_kernel_pair = std::nullopt,
                                    .added_kernel = std::nullopt};
    if (kernel_ != nullptr) {
      times_us = filled(fill, 1, kPairs);
      if (!times_us.empty()) calibration.empty_kernel_pair = distribution_of(times_us);
    }
    // On an idle stream kernels wait for their launches, not for each other.
    if (calibration.empty_kernel_pair && fill != &Calibrator::fill_idle) {
      times_us = filled(fill, 1 + kKernelsAdded, kChainPairs);
      for (double& time_us : times_us)
        time_us = (time_us - calibration.empty_kernel_pair->median_us) / kKernelsAdded;
      if (!times_us.empty()) calibration.added_kernel = distribution_of(times_us);
    }
    result.states.push_back(std::move(calibration));
  }

  int device_id_;
  TimeSpent time_spent_;
  bool is_stuck_ = false;  // the device does not finish its work
  CUstream stream_ = nullptr;
  std::array<Pair, kPairsPerHold> pairs_{};
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  volatile std::uint32_t* flag_ = nullptr;
  CUdeviceptr device_flag_ = 0;
  std::uint32_t holds_ = 0;
  std::unique_ptr<HoldLimit> limit_;
};

}  // namespace

record::Distribution distribution_of(std::vector<double>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {.median_us = percentile(values, 0.5),
          .p05_us = percentile(values, 0.05),
          .p95_us = percentile(values, 0.95),
          .count = static_cast<int>(values.size())};
}

CalibrationResult calibrate(CUcontext context, int device_id) noexcept {
  try {
    const ContextScope current(context);
    const CaptureModeScope capture_mode;
    if (!current)
      return {.states = {}, .note = "no calibration: the context cannot be made current"};
    return Calibrator(device_id).run();
  } catch (const std::exception&) {  // the allocator's
    return {.states = {}, .note = "no calibration: out of memory"};
  }
}

}  // namespace inline_prof::timer
