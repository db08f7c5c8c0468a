// Measures the time that a pair of CUDA events adds to the kernel between them (claims 12 to 16,
// 58).
//
//   pair_bias OUT.json
//
// Kernels of known length run between two events in the states of the injected library's
// calibration, and in two more:
//
//   idle    the stream is empty when the pair is recorded
//   busy    a long kernel holds the stream back until the pairs are queued
//   graph   the events and the kernel are nodes of a graph
//   large   as busy, with so many blocks that they fill every SM
//   beside  as busy, while another stream has work of its own all the time
//
// A kernel's own time is read inside it, from globaltimer: first to last instruction of its first
// block. Launch and completion are not in it; CUPTI's timestamps have them, when the same program
// runs under census_cupti.cpp (pairs.py joins the two by the order of launches).
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace {

using namespace inline_prof::gpu_test;

__global__ void spin(std::int64_t cycles, KernelTimes* times) {
  if (blockIdx.x == 0) {
    spin_and_note(cycles, times);
  } else {
    spin_cycles(cycles);
  }
}

// The same under another name, which is not counted among the measured launches.
__global__ void hold(std::int64_t cycles) {
  spin_cycles(cycles);
}

__global__ void empty_kernel() {}

// Finds the smallest step of the global timer in many readings.
__global__ void timer_step(std::uint64_t* step_ns) {
  std::uint64_t smallest = UINT64_MAX;
  std::uint64_t previous = global_ns();
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t now = global_ns();
    if (now != previous && now - previous < smallest) smallest = now - previous;
    previous = now;
  }
  *step_ns = smallest;
}

struct Row {
  std::string state;
  std::string kernel;  // "", "empty_kernel" or "spin"
  double target_us;
  std::vector<double> pair_us{};
  std::vector<double> inner_us{};
  int tight_count = 0;  // pairs whose first event had not happened when the launch had returned
};

class Bench {
 public:
  Bench() {
    check(cudaDeviceGetAttribute(&sm_count_, cudaDevAttrMultiProcessorCount, 0),
          "cudaDeviceGetAttribute");
    times_ = static_cast<KernelTimes*>(take_memory(sizeof(KernelTimes) * kPairsPerHold));
    for (Pair& pair : pairs_) {
      check(cudaEventCreate(&pair.start), "cudaEventCreate");
      check(cudaEventCreate(&pair.stop), "cudaEventCreate");
    }
    cycles_per_us_ = cycles_per_us_when_warm(stream_);
    auto* step_ns = static_cast<std::uint64_t*>(take_memory(sizeof(std::uint64_t)));
    timer_step<<<1, 1, 0, stream_>>>(step_ns);
    check(cudaStreamSynchronize(stream_), "timer_step");
    check(cudaMemcpy(&timer_step_ns_, step_ns, sizeof timer_step_ns_, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
  }

  void measure(const std::string& state, const std::string& kernel, double target_us) {
    Row row{state, kernel, target_us};
    if (state == "idle") {
      idle(row);
    } else if (state == "graph") {
      graph(row);
    } else {
      blocks_ = state == "large" ? static_cast<unsigned>(sm_count_) : 1;
      if (state == "beside") keep_other_stream_busy(target_us);
      busy(row);
      blocks_ = 1;
      wait(other_);
    }
    rows_.push_back(row);
  }

  [[nodiscard]] bool write(const char* path) const {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) return false;
    std::fprintf(
        file, "{\"device\": \"%s\", \"cycles_per_us\": %.1f, \"timer_step_ns\": %llu, \"rows\": [",
        properties.name, cycles_per_us_, static_cast<unsigned long long>(timer_step_ns_));
    for (const Row& row : rows_) {
      std::fprintf(file,
                   "%s\n {\"state\": \"%s\", \"kernel\": \"%s\", \"target_us\": %g, \"tight\": %d",
                   &row == rows_.data() ? "" : ",", row.state.c_str(), row.kernel.c_str(),
                   row.target_us, row.tight_count);
      for (const auto& [name, values] :
           {std::pair{"pair_us", &row.pair_us}, std::pair{"inner_us", &row.inner_us}}) {
        std::fprintf(file, ",\n  \"%s\": [", name);
        for (std::size_t i = 0; i < values->size(); ++i)
          std::fprintf(file, "%s%.3f", i == 0 ? "" : ", ", (*values)[i]);
        std::fprintf(file, "]");
      }
      std::fprintf(file, "}");
    }
    std::fprintf(file, "]}\n");
    return std::fclose(file) == 0;
  }

 private:
  static constexpr int kRepeats = 64;
  static constexpr int kPairsPerHold = 16;  // as the injected library's calibration queues
  // 48 calls of a few microseconds each are queued well before it ends.
  static constexpr double kHoldUs = 2000;

  struct Pair {
    cudaEvent_t start;
    cudaEvent_t stop;
  };

  [[nodiscard]] std::int64_t cycles(double us) const {
    return static_cast<std::int64_t>(us * cycles_per_us_);
  }

  void idle(Row& row) {
    for (int i = 0; i < kRepeats; ++i) {
      wait(stream_);
      queue_pair(row, 0);
      read_pairs(row, 1);
    }
  }

  void busy(Row& row) {
    for (int done = 0; done < kRepeats; done += kPairsPerHold) {
      hold<<<1, 1, 0, stream_>>>(cycles(kHoldUs));
      const int count = std::min(kPairsPerHold, kRepeats - done);
      for (int i = 0; i < count; ++i)
        queue_pair(row, i);
      read_pairs(row, count);
    }
  }

  void graph(Row& row) {
    cudaGraphExec_t exec = captured_exec(stream_, [&] {
      check(cudaEventRecordWithFlags(pairs_[0].start, stream_, cudaEventRecordExternal), "record");
      launch(row, 0);
      check(cudaEventRecordWithFlags(pairs_[0].stop, stream_, cudaEventRecordExternal), "record");
    });
    for (int i = 0; i < kRepeats; ++i) {
      check(cudaGraphLaunch(exec, stream_), "cudaGraphLaunch");
      read_pairs(row, 1);
    }
    check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  }

  void keep_other_stream_busy(double target_us) {
    constexpr double kNeighbourUs = 500;
    const double all_us = kRepeats * (target_us + kHoldUs / kPairsPerHold);
    for (int i = 0; i < static_cast<int>(all_us / kNeighbourUs) + 1; ++i)
      hold<<<1, 1, 0, other_>>>(cycles(kNeighbourUs));
  }

  void launch(const Row& row, int slot) {
    if (row.kernel == "empty_kernel") empty_kernel<<<1, 1, 0, stream_>>>();
    if (row.kernel == "spin")
      spin<<<blocks_, 1, 0, stream_>>>(cycles(row.target_us), times_ + slot);
    check(cudaGetLastError(), "launch");
  }

  void queue_pair(Row& row, int slot) {
    check(cudaEventRecord(pairs_[slot].start, stream_), "cudaEventRecord");
    launch(row, slot);
    if (cudaEventQuery(pairs_[slot].start) == cudaErrorNotReady) {
      ++row.tight_count;
      static_cast<void>(cudaGetLastError());  // or the next call would be blamed for "not ready"
    }
    check(cudaEventRecord(pairs_[slot].stop, stream_), "cudaEventRecord");
  }

  void read_pairs(Row& row, int count) {
    wait(stream_);
    KernelTimes times[kPairsPerHold] = {};
    if (row.kernel == "spin")
      check(cudaMemcpy(times, times_, sizeof times, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int i = 0; i < count; ++i) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, pairs_[i].start, pairs_[i].stop), "cudaEventElapsedTime");
      row.pair_us.push_back(static_cast<double>(ms) * 1e3);
      row.inner_us.push_back(static_cast<double>(times[i].last_ns - times[i].first_ns) * 1e-3);
    }
  }

  int sm_count_ = 1;
  unsigned blocks_ = 1;
  cudaStream_t stream_ = make_stream();
  cudaStream_t other_ = make_stream();
  KernelTimes* times_ = nullptr;
  Pair pairs_[kPairsPerHold] = {};
  double cycles_per_us_ = 0;
  std::uint64_t timer_step_ns_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: pair_bias OUT.json\n");
    return 2;
  }
  skip_without_gpu();
  Bench bench;
  for (const char* kernel : {"", "empty_kernel"}) {
    for (const char* state : {"idle", "busy", "graph"})
      bench.measure(state, kernel, 0);
  }
  for (const double target_us : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0}) {
    for (const char* state : {"idle", "busy", "graph", "large", "beside"})
      bench.measure(state, "spin", target_us);
  }
  if (bench.write(argv[1])) return 0;
  std::fprintf(stderr, "pair_bias: cannot write %s\n", argv[1]);
  return 1;
}
