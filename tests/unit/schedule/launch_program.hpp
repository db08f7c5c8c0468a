// The order in which a training program launches its kernels, made up, with the truth about where
// its iterations begin.
//
// The network is a transformer's caricature: `layers` equal layers between an embedding and a head.
// With 24 layers an iteration has some 500 launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace inline_prof::schedule::test {

enum Kernel : std::uint32_t {
  kFill = 100,
  kNormal,
  kCopy,
  kEmbedding,
  kNorm,
  kGemm,
  kBias,
  kAttention,
  kGemmWide,
  kActivation,
  kAdd,
  kHead,
  kLoss,
  kLossBackward,
  kHeadBackward,
  kAddBackward,
  kGemmInput,
  kGemmWeight,
  kActivationBackward,
  kAttentionBackward,
  kNormBackward,
  kReduce,
  kEmbeddingBackward,
  kClip,
  kAdam,
  kAccuracy,
  kOther,  // and above: further models, by multiples of kModel
  kModel = 1000,
};

class LaunchProgram {
 public:
  explicit LaunchProgram(std::uint64_t seed = 1) : random_(seed) {}

  void launch(std::uint32_t kernel, std::size_t times = 1) {
    launches_.insert(launches_.end(), times, kernel);
  }
  void begin_iteration() { starts_.push_back(launches_.size()); }

  // 0 <= result < bound
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  bool chance(double probability) {
    return static_cast<double>(random_() >> 11U) * 0x1p-53 < probability;
  }

  // Weights are drawn and copied; the loop over the layers is itself a repetition.
  void set_up(std::size_t layers) {
    launch(kCopy, 3);
    for (std::size_t i = 0; i < layers; ++i) {
      launch(kNormal, 4);
      launch(kFill, 5);
    }
    launch(kCopy, 1 + below(7));
  }

  void forward(std::size_t layers, std::uint32_t model = 0) {
    launch(kEmbedding + model);
    for (std::size_t i = 0; i < layers; ++i) {
      for (const std::uint32_t kernel :
           {kNorm, kGemm, kBias, kAttention, kGemm, kAdd, kGemmWide, kActivation}) {
        launch(kernel + model);
      }
    }
    launch(kHead + model);
  }

  void backward(std::size_t layers, std::uint32_t model = 0) {
    launch(kLoss + model);
    launch(kLossBackward + model);
    launch(kHeadBackward + model);
    for (std::size_t i = 0; i < layers; ++i) {
      for (const std::uint32_t kernel :
           {kAddBackward, kGemmInput, kGemmWeight, kActivationBackward, kReduce, kGemmInput,
            kGemmWeight, kAttentionBackward, kNormBackward}) {
        launch(kernel + model);
      }
    }
    launch(kEmbeddingBackward + model);
  }

  void optimizer(std::size_t layers, std::uint32_t model = 0) {
    launch(kReduce + model, 2);
    launch(kClip + model);
    launch(kAdam + model, 4 * layers);
  }

  void training_step(std::size_t layers, std::uint32_t model = 0) {
    forward(layers, model);
    backward(layers, model);
    optimizer(layers, model);
  }

  [[nodiscard]] const std::vector<std::uint32_t>& launches() const { return launches_; }
  // Index of the first launch of each iteration.
  [[nodiscard]] const std::vector<std::uint64_t>& starts() const { return starts_; }

 private:
  std::mt19937_64 random_;
  std::vector<std::uint32_t> launches_;
  std::vector<std::uint64_t> starts_;
};

// The shapes of programs, `iterations` long.

inline LaunchProgram plain(std::uint64_t seed, std::size_t layers, std::size_t iterations) {
  LaunchProgram program(seed);
  program.set_up(layers);
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    program.training_step(layers);
  }
  return program;
}

// Gradients of `micro_steps` batches are added up before the optimizer's step.
inline LaunchProgram accumulation(std::uint64_t seed, std::size_t layers, std::size_t iterations,
                                  std::size_t micro_steps) {
  LaunchProgram program(seed);
  program.set_up(layers);
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    for (std::size_t k = 0; k < micro_steps; ++k) {
      program.forward(layers);
      program.backward(layers);
    }
    program.optimizer(layers);
  }
  return program;
}

// An inference server: each batch is one of several kinds, which differ in some of their kernels
// (the shape chooses them) and in how many there are.
inline LaunchProgram batches(std::uint64_t seed, std::size_t kinds, std::size_t count = 150) {
  LaunchProgram program(seed);
  const std::size_t layers = 3 + program.below(12);
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::uint32_t>(program.below(kinds));
    program.launch(kEmbedding);
    for (std::size_t layer = 0; layer < layers + kind; ++layer) {
      program.launch(kNorm);
      program.launch(kGemm + kind * kModel);
      program.launch(kAttention + kind * kModel);
      program.launch(kAdd);
      program.launch(kGemmWide + kind * kModel);
    }
    program.launch(kHead);
    program.launch(kCopy);
  }
  return program;
}

}  // namespace inline_prof::schedule::test
