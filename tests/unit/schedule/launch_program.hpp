// The order in which a training program launches its kernels, made up, with the truth about where
// its iterations begin.
//
// The network is a transformer's caricature: `layers` equal layers between an embedding and a head.
// With 24 layers an iteration has some 500 launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
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
  kExpert,
  kDropout,
  kLog,
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

// `batches` forward passes after every `every` iterations.
inline LaunchProgram evaluation(std::uint64_t seed, std::size_t layers, std::size_t iterations,
                                std::size_t every, std::size_t batches) {
  LaunchProgram program(seed);
  program.set_up(layers);
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    program.training_step(layers);
    if ((i + 1) % every != 0) continue;
    for (std::size_t k = 0; k < batches; ++k) {
      program.forward(layers);
      program.launch(kAccuracy);
    }
  }
  return program;
}

// Two models in turn: one iteration is a step of both.  They share some kernels.
inline LaunchProgram alternating(std::uint64_t seed, std::size_t layers, std::size_t iterations) {
  LaunchProgram program(seed);
  program.set_up(layers);
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    program.training_step(layers);
    program.training_step(layers / 2, kModel);
    program.launch(kReduce, 2);
  }
  return program;
}

// One of several streams: it has a part of the layers, and launches of a helper thread's that come
// where they like.
inline LaunchProgram one_stream_of_several(std::uint64_t seed, std::size_t layers,
                                           std::size_t iterations) {
  LaunchProgram program(seed);
  program.launch(kCopy, 2 + program.below(5));
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    program.launch(kEmbedding);
    for (std::size_t layer = 0; layer < 2 * layers; ++layer) {
      if (layer % 8 == 3 && program.chance(0.6)) program.launch(kLog);
      for (const std::uint32_t kernel : {kNorm, kGemm, kBias, kGemmWide, kAdd})
        program.launch(kernel);
    }
    program.launch(kHead);
    for (std::size_t layer = 0; layer < 2 * layers; ++layer) {
      if (layer % 8 == 5 && program.chance(0.6)) program.launch(kLog);
      for (const std::uint32_t kernel : {kAddBackward, kGemmInput, kGemmWeight, kNormBackward})
        program.launch(kernel);
    }
    program.launch(kAdam, layers);
  }
  return program;
}

// Experts are chosen by the data, dropout is skipped at random, and some iterations log.
inline LaunchProgram data_dependent(std::uint64_t seed, std::size_t layers,
                                    std::size_t iterations) {
  LaunchProgram program(seed);
  program.set_up(layers);
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    program.forward(layers);
    for (std::size_t block = 0; block < 6; ++block) {
      program.launch(kNorm);
      program.launch(kExpert + kModel * 2, program.below(5));
      program.launch(kAdd);
    }
    if (program.chance(0.8)) program.launch(kDropout);
    program.backward(layers);
    program.launch(kExpert, program.below(8));
    program.optimizer(layers);
    if (program.chance(0.5)) program.launch(kLog);
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

// The programs that tests/inject runs under the injected library, by name; one without launches for
// any other.
inline LaunchProgram program_named(std::string_view shape) {
  if (shape == "plain") return plain(1, 24, 60);
  if (shape == "accumulation") return accumulation(2, 24, 90, 4);
  if (shape == "sixteen_micro_steps") return accumulation(8, 24, 40, 16);
  if (shape == "evaluation") return evaluation(3, 24, 60, 5, 3);
  if (shape == "alternating") return alternating(4, 24, 60);
  if (shape == "two_devices") return plain(1, 24, 60);
  if (shape == "streams_threads") return one_stream_of_several(5, 30, 60);
  if (shape == "data_dependent") return data_dependent(6, 24, 60);
  if (shape == "no_period") return batches(7, 5, 400);
  return LaunchProgram();
}

}  // namespace inline_prof::schedule::test
