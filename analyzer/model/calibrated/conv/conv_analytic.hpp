// What a convolution takes on a GPU, in each way of computing it: matrix products on tiles and
// waves, the transforms around them, and memory (docs/models/convolutions.md).
#pragma once

#include "model/calibrated/conv/conv_kernel.hpp"
#include "model/calibrated/parameter_spec.hpp"
#include "read/machine.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

enum class ConvDirection : std::uint8_t { kForward, kBackwardData, kBackwardFilter };
[[nodiscard]] std::optional<ConvDirection> conv_direction(std::string_view name);

// Images n x c x h x w, filters k x c x r x s.  Whole numbers, kept as double: products of four do
// not fit into 64 bits.
struct ConvShape {
  double n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  double stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, groups = 1;

  // Height and width of the output; 0 or less if the filter does not fit.
  [[nodiscard]] double p() const;
  [[nodiscard]] double q() const;
};

// What the model has to know of the GPU.  Times are microseconds, so rates are per microsecond.
struct ConvMachine {
  double sm_count = 0;
  double flops_per_us = 0;
  double bytes_per_us = 0;
  double l2_bytes = 0;
  double element_bytes = 4;
  double channel_step = 8;          // to which channels are padded
  bool has_tensor_kernels = false;  // 16 bits and fewer: matrix products only, on tensor cores
};

// Throws std::invalid_argument where the machine lacks the type's peak or the size of its L2.
[[nodiscard]] ConvMachine conv_machine(const read::Machine& machine, std::string_view type);

struct ConvTime {
  double time_us = 0;
  double compute_us = 0;
  double memory_us = 0;
  double transform_us = 0;
  double overhead_us = 0;  // launches
  ConvAlgorithm algorithm = ConvAlgorithm::kImplicitGemm;
  double tile_m = 0, tile_n = 0;
  double waves = 0;
  std::string_view bound;  // "compute", "memory" or "launch"
};

class ConvAnalytic {
 public:
  [[nodiscard]] static std::span<const ParameterSpec> parameters();

  // `values`: one for each of parameters().
  ConvAnalytic(const ConvMachine& machine, ConvDirection direction, std::span<const double> values);

  // In the way and with the tile of `kernel`; without one, in the fastest way of all.  `progress`:
  // how far the session had come that timed it, from 0 to 1.
  [[nodiscard]] ConvTime predict(const ConvShape& shape, const std::optional<ConvKernel>& kernel,
                                 double progress = 0) const;
  // What the timer's host adds to every convolution.
  [[nodiscard]] double launch_us(double progress) const;

 private:
  // C[m,n] = A[m,k] B[k,n], `batch` times.
  struct Product {
    double m, n, k, batch;
  };
  struct Tiled {
    double time_us, tile_m, tile_n, waves;
  };

  [[nodiscard]] Product gemm_of(const ConvShape& shape) const;
  [[nodiscard]] Tiled tiled(const Product& product, double share, double tile_m,
                            double tile_n) const;
  [[nodiscard]] Tiled best_tiled(const Product& product, double share,
                                 const ConvKernel* kernel) const;
  [[nodiscard]] double moved_us(double bytes) const;
  [[nodiscard]] ConvTime finish(ConvTime time, double tensor_bytes, double kernels) const;
  [[nodiscard]] ConvTime implicit_gemm(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime explicit_gemm(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime winograd(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime winograd_nonfused(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime fft(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime fastest(const ConvShape& shape, const ConvShape& transformed) const;
  [[nodiscard]] ConvTime in_algorithm(ConvAlgorithm algorithm, const ConvShape& shape,
                                      const ConvKernel* kernel) const;

  ConvMachine machine_;
  ConvDirection direction_;
  std::vector<double> values_;
};

}  // namespace inline_prof::model
