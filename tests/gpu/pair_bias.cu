// What a pair of CUDA events adds to the time of the kernel between them.
//
//   pair_bias [--repeats N] OUT.json
//
// Kernels of known length run between two events in three states, those of the injected library's
// calibration:
//
//   idle   the stream is empty when the pair is recorded
//   busy   the stream is held back by a long kernel until the pairs are queued
//   graph  the events and the kernel are nodes of a graph
//   large  as busy, with so many blocks that they fill every SM
//   beside as busy, while another stream has work of its own all the time
//
// A kernel's own time is read inside it, from globaltimer: first to last instruction of its only
// thread.  Launch and completion of the kernel are not in it; how much they take is seen from
// CUPTI's timestamps, when the same program runs under census_cupti.cpp (pair_bias_report.py joins
// the two by the order of launches).
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using inline_prof::gpu_test::check;
using inline_prof::gpu_test::global_ns;
using inline_prof::gpu_test::KernelTimes;

__global__ void spin(std::int64_t cycles, KernelTimes* times) {
  if (blockIdx.x == 0) {
    inline_prof::gpu_test::spin_and_note(cycles, times);
  } else {
    inline_prof::gpu_test::spin_cycles(cycles);
  }
}

// The same under another name: what must not be counted among the measured launches.
__global__ void hold(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}

__global__ void empty_kernel() {}

// Smallest step of the global timer that `samples` readings show.
__global__ void timer_step(int samples, std::uint64_t* step_ns) {
  std::uint64_t smallest = UINT64_MAX;
  std::uint64_t previous = global_ns();
  for (int i = 0; i < samples; ++i) {
    const std::uint64_t now = global_ns();
    if (now != previous && now - previous < smallest) smallest = now - previous;
    previous = now;
  }
  *step_ns = smallest;
}

enum class What { kNothing, kEmptyKernel, kSpin };

struct Row {
  const char* state;
  What what;
  double target_us;
  std::vector<float> pair_us;
  std::vector<double> inner_us;
  int tight_count;  // pairs whose first event had not happened when the launch had returned
};

class Bench {
 public:
  explicit Bench(int repeats) : repeats_(repeats) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaDeviceGetAttribute(&sm_count_, cudaDevAttrMultiProcessorCount, 0),
          "cudaDeviceGetAttribute");
    check(cudaMalloc(&times_, sizeof(KernelTimes) * kPairsPerHold), "cudaMalloc");
    for (Pair& pair : pairs_) {
      check(cudaEventCreate(&pair.start), "cudaEventCreate");
      check(cudaEventCreate(&pair.stop), "cudaEventCreate");
    }
    warm_up();
  }

  [[nodiscard]] double cycles_per_us() const { return cycles_per_us_; }
  [[nodiscard]] std::uint64_t timer_step_ns() const { return timer_step_ns_; }

  Row idle(What what, double target_us) {
    Row row{"idle", what, target_us, {}, {}, 0};
    for (int i = 0; i < repeats_; ++i) {
      check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
      queue_pair(row, 0);
      read_pairs(row, 1);
    }
    return row;
  }

  Row busy(What what, double target_us) {
    Row row{"busy", what, target_us, {}, {}, 0};
    for (int done = 0; done < repeats_; done += kPairsPerHold) {
      hold<<<1, 1, 0, stream_>>>(static_cast<std::int64_t>(kHoldUs * cycles_per_us_));
      const int count = std::min(kPairsPerHold, repeats_ - done);
      for (int i = 0; i < count; ++i)
        queue_pair(row, i);
      read_pairs(row, count);
    }
    return row;
  }

  // The kernel's own time is that of its first block, which the others resemble.
  Row large(double target_us) {
    blocks_ = static_cast<unsigned>(sm_count_);
    Row row = busy(What::kSpin, target_us);
    blocks_ = 1;
    row.state = "large";
    return row;
  }

  Row beside(double target_us) {
    constexpr double kNeighbourUs = 500;
    const double all_us = repeats_ * (target_us + kHoldUs / kPairsPerHold);
    for (int i = 0; i < static_cast<int>(all_us / kNeighbourUs) + 1; ++i)
      hold<<<1, 1, 0, other_>>>(static_cast<std::int64_t>(kNeighbourUs * cycles_per_us_));
    Row row = busy(What::kSpin, target_us);
    check(cudaStreamSynchronize(other_), "cudaStreamSynchronize");
    row.state = "beside";
    return row;
  }

  Row graph(What what, double target_us) {
    Row row{"graph", what, target_us, {}, {}, 0};
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin capture");
    check(cudaEventRecordWithFlags(pairs_[0].start, stream_, cudaEventRecordExternal), "record");
    launch(what, target_us, 0);
    check(cudaEventRecordWithFlags(pairs_[0].stop, stream_, cudaEventRecordExternal), "record");
    check(cudaStreamEndCapture(stream_, &graph), "end capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    for (int i = 0; i < repeats_; ++i) {
      check(cudaGraphLaunch(exec, stream_), "cudaGraphLaunch");
      read_pairs(row, 1);
    }
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return row;
  }

 private:
  static constexpr int kPairsPerHold = 16;  // as the injected library's calibration queues
  // 48 calls of a few microseconds each are queued well before it ends.
  static constexpr double kHoldUs = 2000;

  struct Pair {
    cudaEvent_t start;
    cudaEvent_t stop;
  };

  void warm_up() {
    cycles_per_us_ = inline_prof::gpu_test::cycles_per_us_when_warm(stream_);
    std::uint64_t* step_ns = nullptr;
    check(cudaMalloc(&step_ns, sizeof *step_ns), "cudaMalloc");
    timer_step<<<1, 1, 0, stream_>>>(100'000, step_ns);
    check(cudaStreamSynchronize(stream_), "timer_step");
    check(cudaMemcpy(&timer_step_ns_, step_ns, sizeof timer_step_ns_, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    check(cudaFree(step_ns), "cudaFree");
  }

  void launch(What what, double target_us, int slot) {
    if (what == What::kEmptyKernel) {
      empty_kernel<<<1, 1, 0, stream_>>>();
    } else if (what == What::kSpin) {
      spin<<<blocks_, 1, 0, stream_>>>(static_cast<std::int64_t>(target_us * cycles_per_us_),
                                       times_ + slot);
    }
    check(cudaGetLastError(), "launch");
  }

  void queue_pair(Row& row, int slot) {
    check(cudaEventRecord(pairs_[slot].start, stream_), "cudaEventRecord");
    launch(row.what, row.target_us, slot);
    if (cudaEventQuery(pairs_[slot].start) == cudaErrorNotReady) {
      ++row.tight_count;
      static_cast<void>(
          cudaGetLastError());  // "not ready" would be taken for the next call's error
    }
    check(cudaEventRecord(pairs_[slot].stop, stream_), "cudaEventRecord");
  }

  void read_pairs(Row& row, int count) {
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    KernelTimes times[kPairsPerHold] = {};
    if (row.what == What::kSpin) {
      check(cudaMemcpy(times, times_, sizeof(KernelTimes) * static_cast<std::size_t>(count),
                       cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    }
    for (int i = 0; i < count; ++i) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, pairs_[i].start, pairs_[i].stop), "cudaEventElapsedTime");
      row.pair_us.push_back(ms * 1e3F);
      row.inner_us.push_back(static_cast<double>(times[i].last_ns - times[i].first_ns) * 1e-3);
    }
  }

  int repeats_;
  int sm_count_ = 1;
  unsigned blocks_ = 1;
  cudaStream_t stream_ = nullptr;
  cudaStream_t other_ = nullptr;
  KernelTimes* times_ = nullptr;
  Pair pairs_[kPairsPerHold] = {};
  double cycles_per_us_ = 0;
  std::uint64_t timer_step_ns_ = 0;
};

const char* kernel_name(What what) {
  switch (what) {
    case What::kNothing:
      return "";
    case What::kEmptyKernel:
      return "empty_kernel";
    case What::kSpin:
      return "spin";
  }
  return "";
}

template <typename Value>
void write_list(std::FILE* file, const char* name, const std::vector<Value>& values) {
  std::fprintf(file, "\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::fprintf(file, "%s%.3f", i == 0 ? "" : ", ", static_cast<double>(values[i]));
  }
  std::fprintf(file, "]");
}

bool write_json(const char* path, const Bench& bench, const std::vector<Row>& rows) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\"device\": \"%s\", \"cycles_per_us\": %.1f, \"timer_step_ns\": %llu,\n",
               properties.name, bench.cycles_per_us(),
               static_cast<unsigned long long>(bench.timer_step_ns()));
  std::fprintf(file, " \"rows\": [\n");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    std::fprintf(file,
                 "  {\"state\": \"%s\", \"kernel\": \"%s\", \"target_us\": %g, \"tight\": %d,\n   ",
                 row.state, kernel_name(row.what), row.target_us, row.tight_count);
    write_list(file, "pair_us", row.pair_us);
    std::fprintf(file, ",\n   ");
    write_list(file, "inner_us", row.inner_us);
    std::fprintf(file, "}%s\n", i + 1 == rows.size() ? "" : ",");
  }
  std::fprintf(file, " ]}\n");
  return std::fclose(file) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  int repeats = 64;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--repeats") == 0 && i + 1 < argc) {
      repeats = std::atoi(argv[++i]);
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr || repeats < 1) {
    std::fprintf(stderr, "usage: pair_bias [--repeats N] OUT.json\n");
    return 2;
  }
  inline_prof::gpu_test::skip_without_gpu();

  Bench bench(repeats);
  std::vector<Row> rows;
  const auto measure = [&](What what, double target_us) {
    rows.push_back(bench.idle(what, target_us));
    rows.push_back(bench.busy(what, target_us));
    rows.push_back(bench.graph(what, target_us));
  };
  measure(What::kNothing, 0);
  measure(What::kEmptyKernel, 0);
  for (const double target_us : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0}) {
    measure(What::kSpin, target_us);
    rows.push_back(bench.large(target_us));
    rows.push_back(bench.beside(target_us));
  }
  if (!write_json(path, bench, rows)) {
    std::fprintf(stderr, "pair_bias: cannot write %s\n", path);
    return 1;
  }
  return 0;
}
