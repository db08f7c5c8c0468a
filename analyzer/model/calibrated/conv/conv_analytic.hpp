// The time of a convolution on a GPU, in each way of computing it: matrix products on tiles and
// waves, the transforms around them, and memory (README.md beside this file).
#pragma once

#include "model/calibrated/analytic.hpp"
#include "read/machine.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace inline_prof::model {

enum class ConvAlgorithm : std::uint8_t {
  kImplicitGemm,       // a matrix product that gathers the image as it goes
  kPlainImplicitGemm,  // the same, compiled instead of written in assembly
  kExplicitGemm,       // the image is written out as a matrix first
  kWinograd,           // fused: F(2x2, 3x3)
  kWinogradNonfused,   // transforms around 36 matrix products: F(4x4, 3x3)
  kFft,
};
inline constexpr std::size_t kConvAlgorithmCount = 6;

[[nodiscard]] std::string_view conv_algorithm_name(ConvAlgorithm algorithm);

struct ConvKernel {
  ConvAlgorithm algorithm = ConvAlgorithm::kImplicitGemm;
  // Rows and columns of C that a block of the matrix product computes, whichever is which; 0 if
  // the name has none.
  double tile_m = 0, tile_n = 0;
  // Images, rows and columns of 2x2 tiles in a block of the fused Winograd; 0 if the name has none.
  std::array<double, 3> winograd_tile{};
  double blocks = 0;          // of the grid, which says how often k is split; 0 if not known
  bool is_of_ampere = false;  // or of Turing: with instructions that all later GPUs have
};

// Returns the kernel of a convolution with filters of r x s and this stride; empty if the name is
// of no kernel that is known to compute one.  A plain sgemm computes the products of a Winograd
// where there can be one, else those of an image written out as a matrix.
[[nodiscard]] std::optional<ConvKernel> parse_conv_kernel(std::string_view name, double r, double s,
                                                          double stride);

enum class ConvDirection : std::uint8_t { kForward, kBackwardData, kBackwardFilter };
[[nodiscard]] std::optional<ConvDirection> conv_direction(std::string_view name);

// Images n x c x h x w, filters k x c x r x s.  Whole numbers, kept as double: products of four do
// not fit into 64 bits.
struct ConvShape {
  double n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  double stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, groups = 1;

  // Returns height and width of the output; 0 or less if the filter does not fit.
  [[nodiscard]] double p() const;
  [[nodiscard]] double q() const;
};

// The GPU, as the model needs it.  Times are microseconds, so rates are per microsecond.
struct ConvMachine {
  double sm_count = 0;
  double flops_per_us = 0;
  double bytes_per_us = 0;
  double l2_bytes = 0;
  double element_bytes = 4;
  double step = 8;                  // elements along k; tensor cores pad channels to it
  double ampere_share = 1;          // of the peak, with instructions of Ampere
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
  // Returns the time that the timer's host adds to every convolution.
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
  [[nodiscard]] Tiled tiled(const Product& product, double share, double tile_m, double tile_n,
                            double blocks) const;
  [[nodiscard]] Tiled best_tiled(const Product& product, double share,
                                 const ConvKernel* kernel) const;
  [[nodiscard]] double moved_us(double bytes) const;
  [[nodiscard]] ConvTime finish(ConvTime time, double tensor_bytes, double kernels) const;
  [[nodiscard]] static ConvTime of_product(ConvAlgorithm algorithm, const Tiled& product);
  [[nodiscard]] ConvTime implicit_gemm(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime explicit_gemm(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime winograd(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime winograd_nonfused(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime fft(const ConvShape& shape, const ConvKernel* kernel) const;
  [[nodiscard]] ConvTime fastest(const ConvShape& shape, const ConvShape& transformed) const;

  ConvMachine machine_;
  ConvDirection direction_;
  std::vector<double> values_;
};

}  // namespace inline_prof::model
