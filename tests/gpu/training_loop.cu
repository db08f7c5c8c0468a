// A training loop in miniature whose course is known: what the injected library finds in it is
// compared with what it says of itself (training.py).
//
//   training_loop [--steps N] [--mark] [--ranges]
//
// A step makes a batch, goes forward and backward through six layers and updates their weights.
// Beside the steps there is what real programs have: layers are set up in an order of their own,
// every 50th step reads the loss back, and every 200th is followed by an evaluation of three
// batches.
//
// --mark: each step says PROFILE_ITERATION.  --ranges: NVTX ranges around the parts and the layers.
// Prints a JSON object: steps, launches of a step, its first kernel; with --ranges how many ranges
// were pushed, and the path of each launch of a step, in order.
#include "gpu_check.hpp"
#include "spin_kernels.cuh"

#include <inline_prof/profile.hpp>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using inline_prof::gpu_test::check;

constexpr int kLayers = 6;
constexpr int kStepsPerReport = 50;
constexpr int kStepsPerEvaluation = 200;
constexpr int kBatchesOfEvaluation = 3;
constexpr int kStepsAhead = 20;  // fewer launches than a stream's queue is deep

__global__ void set_up_weights(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}
__global__ void make_batch(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}
__global__ void multiply_forward(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}
__global__ void activate(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}
__global__ void loss_of_batch(std::int64_t cycles, float* loss) {
  inline_prof::gpu_test::spin_cycles(cycles);
  *loss += 1;
}
__global__ void multiply_backward(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}
__global__ void multiply_for_weights(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}
__global__ void update_weights(std::int64_t cycles) {
  inline_prof::gpu_test::spin_cycles(cycles);
}

struct Options {
  int steps = 1500;
  bool mark = false;
  bool ranges = false;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--mark") == 0) {
      options.mark = true;
    } else if (std::strcmp(argv[i], "--ranges") == 0) {
      options.ranges = true;
    } else if (std::strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
      options.steps = std::atoi(argv[++i]);
    } else {
      return false;
    }
  }
  return options.steps > 0;
}

class Training {
 public:
  explicit Training(const Options& options) : options_(options) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    cycles_per_us_ = inline_prof::gpu_test::cycles_per_us_when_warm(stream_);
    check(cudaMalloc(&loss_, sizeof *loss_), "cudaMalloc");
    for (int layer = kLayers - 1; layer >= 0; --layer)
      set_up_weights<<<1 + layer, 32, 0, stream_>>>(cycles(3));
    check(cudaStreamSynchronize(stream_), "set-up");
  }

  void run() {
    for (int step = 1; step <= options_.steps; ++step) {
      one_step();
      if (step == 1) launches_of_step_ = paths_.size();
      is_noting_ = false;
      if (step % kStepsPerReport == 0) read_loss();
      if (step % kStepsPerEvaluation == 0) evaluate();
      if (step % kStepsAhead == 0) check(cudaStreamSynchronize(stream_), "step");
    }
    check(cudaStreamSynchronize(stream_), "last step");
  }

  void print() const {
    std::printf("{\"steps\": %d, \"launches_of_step\": %zu, \"first_kernel\": \"make_batch\"",
                options_.steps, launches_of_step_);
    if (options_.ranges) {
      std::printf(", \"ranges\": %lld, \"layers\": [", pushed_);
      for (std::size_t i = 0; i < paths_.size(); ++i)
        std::printf("%s\"%s\"", i == 0 ? "" : ", ", paths_[i].c_str());
      std::printf("]");
    }
    std::printf("}\n");
  }

 private:
  // A range from here to the end of the scope.
  class Range {
   public:
    Range(Training& training, const std::string& name)
        : training_(training), before_(training.path_.size()) {
      if (!training.options_.ranges) return;
      training.path_ += (training.path_.empty() ? "" : ".") + name;
      ++training.pushed_;
      nvtxRangePushA(name.c_str());
    }
    ~Range() {
      if (!training_.options_.ranges) return;
      training_.path_.resize(before_);
      nvtxRangePop();
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    Training& training_;
    std::size_t before_;
  };

  std::int64_t cycles(double us) const { return static_cast<std::int64_t>(us * cycles_per_us_); }

  void launched() {
    check(cudaGetLastError(), "launch");
    if (is_noting_) paths_.push_back(path_);
  }

  static std::string layer_name(int layer) { return "layer" + std::to_string(layer); }

  void forward() {
    const Range range(*this, "forward");
    for (int layer = 0; layer < kLayers; ++layer) {
      const Range inner(*this, layer_name(layer));
      multiply_forward<<<1 + layer, 32, 0, stream_>>>(cycles(6 + 2 * layer));
      launched();
      activate<<<1 + layer, 64, 0, stream_>>>(cycles(4));
      launched();
    }
  }

  void new_batch() {
    make_batch<<<2, 32, 0, stream_>>>(cycles(5));
    launched();
  }

  void one_step() {
    if (options_.mark) PROFILE_ITERATION();
    new_batch();
    forward();
    loss_of_batch<<<1, 1, 0, stream_>>>(cycles(4), loss_);
    launched();
    {
      const Range range(*this, "backward");
      for (int layer = kLayers - 1; layer >= 0; --layer) {
        const Range inner(*this, layer_name(layer));
        multiply_backward<<<1 + layer, 32, 0, stream_>>>(cycles(6 + 2 * layer));
        launched();
        multiply_for_weights<<<1 + layer, 32, 0, stream_>>>(cycles(7 + 2 * layer));
        launched();
      }
    }
    const Range range(*this, "optimizer");
    for (int layer = 0; layer < kLayers; ++layer) {
      update_weights<<<1 + layer, 128, 0, stream_>>>(cycles(3));
      launched();
    }
  }

  void read_loss() {
    float loss = 0;
    check(cudaMemcpyAsync(&loss, loss_, sizeof loss, cudaMemcpyDeviceToHost, stream_), "loss");
    check(cudaStreamSynchronize(stream_), "loss");
  }

  void evaluate() {
    const Range range(*this, "evaluation");
    for (int batch = 0; batch < kBatchesOfEvaluation; ++batch) {
      new_batch();
      forward();
    }
  }

  const Options& options_;
  cudaStream_t stream_ = nullptr;
  double cycles_per_us_ = 0;
  float* loss_ = nullptr;
  bool is_noting_ = true;  // the first step
  std::string path_;
  std::vector<std::string> paths_;  // of the launches of a step
  std::size_t launches_of_step_ = 0;
  long long pushed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: training_loop [--steps N] [--mark] [--ranges]\n");
    return 2;
  }
  inline_prof::gpu_test::skip_without_gpu();
  Training training(options);
  training.run();
  training.print();
  return 0;
}
