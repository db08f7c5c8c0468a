// The time of a matrix product on a GPU: tiles, waves, split-K and memory, with parameters that a
// fit has to find (README.md beside this file).
#pragma once

#include "model/calibrated/analytic.hpp"
#include "read/machine.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::model {

// C[m,n] = A[m,k] * B[k,n], `batch` times.  Whole numbers >= 1, kept as double: products of three
// do not fit into 64 bits.
struct GemmShape {
  double m = 1, n = 1, k = 1, batch = 1;
};

// How a product is computed, where that is known.
struct GemmKernel {
  double tile_m = 0, tile_n = 0;
  double splits = 1;  // of k
};

// How the operands are stored and multiplied.
struct GemmTypes {
  std::string name;  // of A and B, as prof.json spells it: "bf16"
  double operand_bytes = 2;
  double output_bytes = 2;
};

// Returns the types of a product whose A and B are `a_type`.  8-bit formats give 16-bit results.
// Empty for a type that is not a type of matrix products.
[[nodiscard]] std::optional<GemmTypes> gemm_types(std::string_view a_type);

// The GPU, as the model needs it.  Times are microseconds, so rates are per microsecond.
struct GemmMachine {
  double sm_count = 0;
  double flops_per_us = 0;  // of all SMs, at the data sheet's peak for the type
  double bytes_per_us = 0;  // of DRAM
  double l2_bytes = 0;
  // Hopper and later: kernels in steps of 8 columns instead of powers of two, whose blocks stay and
  // take tile after tile.  The libraries before them have kernels of their own for vectors, and
  // fill waves by splitting k.
  bool has_fine_tiles = false;
  // The kernels are CUTLASS's of Hopper, whose tile follows from the rows of C.
  bool has_tiles_by_rows = false;
};

// Throws std::invalid_argument where `machine` lacks the type's peak or the size of its L2.
[[nodiscard]] GemmMachine gemm_machine(const read::Machine& machine, const GemmTypes& types);

struct GemmTime {
  double time_us = 0;
  double compute_us = 0;  // tensor cores or their operands from shared memory, with all waves
  double dram_us = 0;
  double l2_us = 0;        // tiles from L2 into the SMs
  double overhead_us = 0;  // launch, and the reduction of a split K
  double quantise_us = 0;  // of A, where that was timed too
  int tile_m = 0, tile_n = 0, splits = 1;
  std::string_view bound;  // "compute", "memory", "l2" or "launch"
};

class GemmAnalytic {
 public:
  // Returns the parameters, in the order of `values` below; with_quantise adds those of the kernel
  // that turns A into 8 bits.
  [[nodiscard]] static std::span<const ParameterSpec> parameters(bool with_quantise);

  // Returns the same, as a fit for this machine starts.
  [[nodiscard]] static std::vector<ParameterSpec> starts(const GemmMachine& machine,
                                                         bool with_quantise);

  // `values`: one for each of parameters(with_quantise).
  GemmAnalytic(const GemmMachine& machine, const GemmTypes& types, bool with_quantise,
               std::span<const double> values);

  // With the fastest of all tiles and splits.
  [[nodiscard]] GemmTime predict(const GemmShape& shape) const;
  [[nodiscard]] GemmTime predict(const GemmShape& shape, const GemmKernel& kernel) const;
  // With the tile and split that `choice`, a prediction of the same shape, has found.
  [[nodiscard]] GemmTime predict_as(const GemmShape& shape, const GemmTime& choice) const;

 private:
  // A tile of C that one block computes, and what a step of 64 along k takes it.
  struct Tile {
    double m, n;
    double next_m, next_n;  // the sides of the next smaller tiles; 0 if there is none
    double step_us;
    double epilogue_us;
  };

  // The numbers that all tiles of a product share.
  struct Product {
    GemmShape shape;
    double dram_us;
    double l2_rate;
  };

  [[nodiscard]] Tile tile_of(double m, double n) const;
  [[nodiscard]] Product product_of(const GemmShape& shape) const;
  // Replaces `best` if this tile and split are faster.
  void consider(const Product& product, const Tile& tile, double unsplit, double splits,
                GemmTime& best) const;
  void consider_vector(const Product& product, GemmTime& best) const;
  [[nodiscard]] bool is_worth_splitting(double unsplit, double k_of_a_split) const;
  [[nodiscard]] GemmTime finish(const Product& product, GemmTime best) const;

  GemmMachine machine_;
  GemmTypes types_;
  bool with_quantise_;
  std::vector<double> values_;
  std::vector<Tile> tiles_;
};

// Returns the tile in the name of a kernel that multiplies matrices ("ampere_sgemm_128x64_tn",
// "sm90_xmma_gemm_..._tilesize128x256x64_...", "nvjet_hsh_128x256_..."), if the launch bears it
// out: with it, `blocks` cover C a whole number of times, once for each part of a split k.  Names
// give the columns of a row-major C first; where only the other way round fits, that is taken.
// Empty where the name has no tile, or the blocks do not fit it: a kernel whose blocks stay and
// take several tiles launches one a multiprocessor.
[[nodiscard]] std::optional<GemmKernel> gemm_kernel(std::string_view name, const GemmShape& shape,
                                                    double blocks);

}  // namespace inline_prof::model
