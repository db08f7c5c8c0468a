#include "model/calibrated/gemm/gemm_analytic.hpp"

#include "read/op.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace inline_prof::model {
namespace {

enum Parameter : std::size_t {
  kLaunch,
  kDramShare,
  kWriteCost,
  kWeightsL2,
  kL2Rate,
  kOverlap,
  kEpilogue,
  kTileEpilogue,
  kSaturation,
  kReduction,
  kFill,
  kL2Gain,
  kActivationsL2,
  kDroop,
  kDroopTime,
  kWaveShare,
  kStep,
  kPeakShare,
  kSharedRate,
  kDramRamp,
  kVector,
  kEpilogueOverlap,
  kQuantiseLaunch,
  kQuantiseCost,
  kQuantiseL2Gain,
  kQuantiseRow,
};

// Starts: H200 and A100 tables of NVIDIA's AIConfigurator, rounded; README.md beside this file.
constexpr std::array<ParameterSpec, 26> kParameters{{
    {"launch_us", 2.0, 0.1, 0.05, 20, "before anything runs", "m, n and k below 64"},
    {"dram_share", 0.85, 0.1, 0.05, 20, "of the data sheet's bandwidth that is reached",
     "products of few rows that read 100 MB"},
    {"write_cost", 1.3, 0.1, 0.05, 20, "of a byte written, in bytes read",
     "k below 128, C of 50 MB and more"},
    {"weights_l2_share", 0.2, 0.1, 0.05, 20, "of L2 up to which B is found there",
     "n * k around the size of L2, few rows"},
    {"l2_tb_per_s", 8.0, 0.1, 0.05, 20, "from L2 into all SMs",
     "k above 1024, tiles of 64 rows, operands that fit into L2"},
    {"overlap", 3.0, 0.1, 0.2, 20, "power of the sum of compute, DRAM and L2: 1 none, high full",
     "products whose operations and bytes take the same time"},
    {"epilogue_us", 0.4, 0.1, 0.05, 20, "of a block", "k below 128, several waves of small tiles"},
    {"tile_epilogue_us", 0.4, 0.1, 0.05, 20, "of a block of 128 x 256",
     "k below 256, several waves of large tiles"},
    {"saturation", 2.0, 0.1, 0.05, 20, "how many times faster than its share an SM alone reads",
     "fewer tiles than half of the SMs, k above 8192"},
    {"reduction_us", 1.5, 0.1, 0.05, 20, "start of the sum over a split k",
     "fewer tiles than a quarter of the SMs, k above 4096"},
    {"fill_us", 0.05, 0.1, 0.05, 20, "of the pipeline", "one tile, k from 64 to 1024"},
    {"l2_gain", 1.0, 0.1, 0.05, 20, "a third of how much faster L2 is than DRAM",
     "operands of a few MB, few rows"},
    {"activations_l2_share", 0.4, 0.1, 0.05, 20, "of L2 up to which A and C are found there",
     "m * k around the size of L2"},
    {"droop", 0.2, 0.3, 0.05, 20, "of the clock under lasting load", "products of 5 ms and more"},
    {"droop_us", 1500.0, 0.5, 0.05, 20, "time after which half of the droop is reached",
     "products from 0.2 to 10 ms"},
    {"wave_share", 0.4, 0.1, 0.05, 2.5, "of a started wave that is paid for: 1 all, 0 none",
     "tiles of 128 x 256 a few more than a multiple of the SMs"},
    {"step_us", 0.08, 0.1, 0.05, 20, "least time of 64 elements along k",
     "one wave of small tiles, k above 1024"},
    {"peak_share", 0.8, 0.1, 0.05, 20, "of the data sheet's peak that a large tile reaches",
     "m, n and k above 4096"},
    {"shared_gb_per_s", 100.0, 0.1, 0.05, 20, "operands into one SM",
     "one wave of 64 x 64 tiles, k above 4096"},
    {"dram_ramp", 0.1, 0.1, 0.05, 20, "of DRAM's time that a short stream takes longer",
     "few rows, 10 to 100 MB"},
    {"vector_us", 0.3, 0.1, 0.05, 20, "of 1024 elements along k, where C is a single row",
     "m or n of 1"},
    {"epilogue_overlap", 1.5, 0.1, 0.67, 20,
     "power of the sum of a block's steps and the epilogue of the one before: 1 none, high full",
     "k from 64 to 512, many waves"},
    {"quantise_us", 3.0, 0.1, 0.05, 20, "start of the kernels that turn A into 8 bits", "m of 1"},
    {"quantise_cost", 1.0, 0.1, 0.05, 20, "their bytes, in bytes read once and written once",
     "m * k above 1e8, n below 1024"},
    // A table whose every A fits into L2 tells only quantise_cost / quantise_l2_gain, so this start
    // counts for more than others.
    {"quantise_l2_gain", 2.0, 1.0, 0.5, 10, "how much faster they are where A is in L2",
     "m * k from 1e6 to 1e9, n below 1024"},
    // vLLM 0.24 starts a block for each row, however short: 7 ns a row on H100.
    {"quantise_row_ns", 0.3, 0.1, 0.05, 100, "of a row of A in these kernels, however short",
     "m above 4096, n and k below 256"},
}};
// Tables end before the clock has found its level under lasting load, so the starts of the droop
// count for more than others.  Ampere keeps its clock: large products of its table reach the same
// share of the peak whatever their length.
constexpr double kCoarseDroop = 0.05;

constexpr std::size_t kWithoutQuantise = kQuantiseLaunch;

// The share of L2 in which the kernels that turn A into 8 bits still find it: on H200 they take 1.2
// us for a million elements up to m * k of 1e7, which are 30 MB moved and half of its L2, and 2.5
// to 3 us beyond.
constexpr double kQuantiseRoom = 0.5;

constexpr double kStepElements = 64;        // along k, of the parameters that say "step"
constexpr double kCoarseStepElements = 32;  // along k: what kernels with few tiles load at a time
constexpr double kLeastSplit = 128;         // elements of k below which nobody splits
// Long products with few more blocks than SMs are split so that waves are full.
constexpr double kMostSplitWaves = 3;
constexpr double kLeastFillingSplit = 1024;
constexpr double kRampUs = 100;      // after which a stream from DRAM is half way to its full rate
constexpr double kVectorBlock = 32;  // elements of C of a block, where C is a single row
constexpr double kLargestTile = 128 * 256;
constexpr double kResidencyPower = 6;  // how sharply data stop to fit into L2
constexpr double kStepPower = 4;       // how sharply the limits of a step meet
constexpr std::array<int, 10> kSplits{1, 2, 3, 4, 5, 6, 8, 16, 32, 64};
constexpr int kCoarseSplit = 5;  // of kernels with few tiles only
constexpr double kFineStep = 8, kMostFineSide = 256;
constexpr std::array<double, 4> kFineRows{64, 128, 192, 256};
// Ampere's and Volta's kernels, as their names say ("...gemm_256x128_...").
constexpr std::array<std::array<double, 2>, 14> kCoarseTiles{{{64, 64},
                                                              {64, 128},
                                                              {64, 256},
                                                              {128, 64},
                                                              {128, 128},
                                                              {128, 256},
                                                              {256, 64},
                                                              {256, 128},
                                                              {32, 64},
                                                              {64, 32},
                                                              {32, 32},
                                                              {16, 64},
                                                              {32, 128},
                                                              {128, 32}}};

// Hopper's and Blackwell's SMs do 4096 and 8192 16-bit FLOP a clock and take tiles of any width
// that is a multiple of 8; those before do 2048 at most, on tiles of a few sizes.
constexpr double kFineTileFlopsPerClock = 3000;

// Part of `bytes` that has to come from DRAM if `room` bytes of L2 keep what was there before.
double dram_part(double bytes, double room) {
  return 1 / (1 + std::pow(room / bytes, kResidencyPower));
}

// The tiles of CUTLASS's 8-bit products on Hopper, by the rows of C (and its columns, where those
// are few): vLLM, csrc/quantization/w8a8/cutlass/c3x/scaled_mm_sm90_fp8_dispatch.cuh at 68f442eb.
// They never split k.
struct RowsTile {
  double most_rows, most_columns;
  double m, n;
};
constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr std::array<RowsTile, 5> kTilesByRows{{{16, kAny, 16, 64},
                                                {64, 1280, 16, 64},
                                                {64, kAny, 64, 64},
                                                {128, kAny, 64, 128},
                                                {kAny, kAny, 128, 128}}};

GemmKernel kernel_by_rows(const GemmShape& shape) {
  const auto* const tile =
      std::find_if(kTilesByRows.begin(), kTilesByRows.end(), [&](const RowsTile& candidate) {
        return shape.m <= candidate.most_rows && shape.n <= candidate.most_columns;
      });
  return {.tile_m = tile->m, .tile_n = tile->n, .splits = 1};
}

constexpr double kMostSplits = 32;

// A split of k, if the blocks are a whole number of covers of C; else 0.
double splits_of(const GemmShape& shape, double tile_m, double tile_n, double blocks) {
  const double cover = std::ceil(shape.m / tile_m) * std::ceil(shape.n / tile_n) * shape.batch;
  const double splits = blocks / cover;
  return splits >= 1 && splits <= kMostSplits && splits == std::floor(splits) ? splits : 0;
}

}  // namespace

std::optional<GemmTypes> gemm_types(std::string_view a_type) {
  if (a_type == "tf32") return GemmTypes{"tf32", 4, 4};
  const auto bytes = number_type_bytes(a_type);
  if (!bytes || a_type == "i32" || a_type == "i64") return std::nullopt;
  return GemmTypes{std::string(a_type), *bytes, std::max(2.0, *bytes)};
}

GemmMachine gemm_machine(const read::Machine& machine, const GemmTypes& types) {
  const bool is_f8 = types.name == "f8e4m3" || types.name == "f8e5m2";
  const std::string key = is_f8 ? "f8" : types.name == "f4e2m1" ? "f4" : types.name;
  auto peak = machine.peak_tflops.find(key);
  // Volta has one 16-bit type only; where there are both, they run at one rate.
  if (peak == machine.peak_tflops.end() && key == "bf16") peak = machine.peak_tflops.find("f16");
  if (peak == machine.peak_tflops.end()) {
    throw std::invalid_argument(fmt::format("{} has no peak for {}", machine.id, types.name));
  }
  if (!machine.l2_mb) throw std::invalid_argument(fmt::format("{} has no l2_mb", machine.id));
  GemmMachine result;
  result.sm_count = static_cast<double>(machine.sm_count);
  result.flops_per_us = peak->second * 1e6;
  result.bytes_per_us = machine.memory_gb_per_s * 1e3;
  result.l2_bytes = *machine.l2_mb * 1e6;
  const auto f16 = machine.peak_tflops.find("f16");
  if (f16 != machine.peak_tflops.end() && machine.boost_clock_mhz && key != "f32" && key != "f64") {
    const double flops_per_clock =
        f16->second * 1e12 / (result.sm_count * *machine.boost_clock_mhz * 1e6);
    result.has_fine_tiles = flops_per_clock > kFineTileFlopsPerClock;
  }
  return result;
}

std::span<const ParameterSpec> GemmAnalytic::parameters(bool with_quantise) {
  return std::span(kParameters).first(with_quantise ? kParameters.size() : kWithoutQuantise);
}

std::vector<ParameterSpec> GemmAnalytic::starts(const GemmMachine& machine, bool with_quantise) {
  const auto all = parameters(with_quantise);
  std::vector<ParameterSpec> specs(all.begin(), all.end());
  if (!machine.has_fine_tiles) specs[kDroop].start = kCoarseDroop;
  return specs;
}

GemmAnalytic::GemmAnalytic(const GemmMachine& machine, const GemmTypes& types, bool with_quantise,
                           std::span<const double> values)
    : machine_(machine),
      types_(types),
      with_quantise_(with_quantise),
      values_(values.begin(), values.end()) {
  if (values.size() != parameters(with_quantise).size()) {
    throw std::invalid_argument(fmt::format("gemm: {} parameters, expected {}", values.size(),
                                            parameters(with_quantise).size()));
  }
  if (!machine.has_fine_tiles) {
    for (const auto& [m, n] : kCoarseTiles) {
      tiles_.push_back(tile_of(m, n));
    }
    return;
  }
  double fewer_rows = 0;
  for (const double m : kFineRows) {
    for (double n = kFineStep; n <= std::min(kMostFineSide, kLargestTile / m); n += kFineStep) {
      const double narrower = n - kFineStep;
      tiles_.push_back(tile_of(m, n));
      tiles_.back().next_m = fewer_rows;
      tiles_.back().next_n = narrower;
      const bool is_its_own_turn =
          std::find(kFineRows.begin(), kFineRows.end(), n) != kFineRows.end();
      if (is_its_own_turn) continue;
      tiles_.push_back(tile_of(n, m));
      tiles_.back().next_m = narrower;
      tiles_.back().next_n = fewer_rows;
    }
    fewer_rows = m;
  }
}

// A step waits for the slowest of three: its loads' latency, the tensor cores, the operands' way
// into the SM.
GemmAnalytic::Tile GemmAnalytic::tile_of(double m, double n) const {
  const double peak_per_sm = machine_.flops_per_us / machine_.sm_count * values_[kPeakShare];
  const double multiply_us = 2 * m * n * kStepElements / peak_per_sm;
  const double operand_us =
      (m + n) * kStepElements * types_.operand_bytes / (values_[kSharedRate] * 1e3);
  return {m,
          n,
          0,
          0,
          power_sum(kStepPower, values_[kStep], multiply_us, operand_us),
          values_[kEpilogue] + values_[kTileEpilogue] * m * n / kLargestTile};
}

GemmAnalytic::Product GemmAnalytic::product_of(const GemmShape& shape) const {
  const auto& v = values_;
  const double a_bytes = types_.operand_bytes * shape.batch * shape.m * shape.k;
  const double b_bytes = types_.operand_bytes * shape.batch * shape.k * shape.n;
  const double c_bytes = types_.output_bytes * shape.batch * shape.m * shape.n;
  const double all_bytes = a_bytes + b_bytes + c_bytes;

  // B comes cold more often than A and C, which other kernels have just written: so each has a room
  // of its own in L2.
  const double cold_us = 1 / (machine_.bytes_per_us * v[kDramShare]);
  const double warm_us = 1 / (machine_.bytes_per_us * 3 * v[kL2Gain]);
  const double kept = dram_part(all_bytes, v[kActivationsL2] * machine_.l2_bytes);
  const double kept_b = dram_part(all_bytes, v[kWeightsL2] * machine_.l2_bytes);
  const double dram_us =
      (a_bytes + c_bytes * v[kWriteCost]) * (kept * cold_us + (1 - kept) * warm_us) +
      b_bytes * (kept_b * cold_us + (1 - kept_b) * warm_us);
  // Behind the kernels that turn A into 8 bits the ramp makes the longest rows worse.
  const double ramp = with_quantise_ ? 1 : 1 + v[kDramRamp] * kRampUs / (kRampUs + dram_us);
  return {shape, dram_us * ramp, v[kL2Rate] * 1e6};
}

void GemmAnalytic::consider(const Product& product, const Tile& tile, double unsplit, double splits,
                            GemmTime& best) const {
  const auto& v = values_;
  const GemmShape& shape = product.shape;
  const double blocks = unsplit * splits;
  const double own_step = machine_.has_fine_tiles ? kStepElements : kCoarseStepElements;
  const double steps = std::ceil(std::ceil(shape.k / splits) / own_step) * own_step / kStepElements;
  const double waves = blocks / machine_.sm_count;
  const double paid_waves = waves <= 1 ? 1 : waves + (std::ceil(waves) - waves) * v[kWaveShare];
  const double steps_us = steps * tile.step_us;
  const double reach = std::min(1.0, std::min(1.0, waves) * v[kSaturation]);
  const double dram_us = product.dram_us / reach;
  const double l2_us = blocks * (tile.m + tile.n) * steps * kStepElements * types_.operand_bytes /
                       (product.l2_rate * reach);
  double overhead_us = v[kLaunch];
  if (splits > 1) {
    overhead_us += v[kReduction] + 8 * shape.batch * shape.m * shape.n * splits / product.l2_rate;
  }
  const auto compute_with = [&](double another_block_us) {
    return v[kFill] + steps_us + tile.epilogue_us + (paid_waves - 1) * another_block_us;
  };
  // Most tiles are out of the question before a power has to be computed.
  const double least_us = compute_with(std::max(steps_us, tile.epilogue_us));
  if (overhead_us + std::max({least_us, dram_us, l2_us}) >= best.time_us) return;
  // While a block's result is written, the next one multiplies.
  const double compute_us =
      paid_waves > 1 ? compute_with(power_sum(v[kEpilogueOverlap], steps_us, tile.epilogue_us, 0))
                     : least_us;
  if (overhead_us + compute_us >= best.time_us) return;
  const double time_us = overhead_us + power_sum(v[kOverlap], compute_us, dram_us, l2_us);
  if (time_us >= best.time_us) return;
  best.time_us = time_us;
  best.compute_us = compute_us;
  best.dram_us = dram_us;
  best.l2_us = l2_us;
  best.overhead_us = overhead_us;
  best.tile_m = static_cast<int>(tile.m);
  best.tile_n = static_cast<int>(tile.n);
  best.splits = static_cast<int>(splits);
}

// C is a row or a column: no tile is worth it, each block reads columns of B.
void GemmAnalytic::consider_vector(const Product& product, GemmTime& best) const {
  const auto& v = values_;
  const GemmShape& shape = product.shape;
  const double compute_us = v[kFill] + v[kVector] * shape.k / 1024;
  const double blocks = std::max(shape.m, shape.n) * shape.batch / kVectorBlock;
  const double reach = std::min(1.0, std::min(1.0, blocks / machine_.sm_count) * v[kSaturation]);
  const double dram_us = product.dram_us / reach;
  const double time_us = v[kLaunch] + power_sum(v[kOverlap], compute_us, dram_us, 0);
  if (time_us >= best.time_us) return;
  best = GemmTime{};
  best.time_us = time_us;
  best.compute_us = compute_us;
  best.dram_us = dram_us;
  best.overhead_us = v[kLaunch];
  best.tile_m = shape.m == 1 ? 1 : static_cast<int>(kVectorBlock);
  best.tile_n = shape.m == 1 ? static_cast<int>(kVectorBlock) : 1;
}

GemmTime GemmAnalytic::finish(const Product& product, GemmTime best) const {
  const auto& v = values_;
  const GemmShape& shape = product.shape;
  const double flops = 2 * shape.batch * shape.m * shape.n * shape.k;
  const double utilisation = flops / machine_.flops_per_us / best.time_us;
  best.time_us *= 1 + v[kDroop] * utilisation / (1 + v[kDroopTime] / best.time_us);
  if (with_quantise_) {
    const double bytes = 3 * shape.batch * shape.m * shape.k;  // A of 16 bits and of 8
    const double from_dram = dram_part(bytes, kQuantiseRoom * machine_.l2_bytes);
    const double move_us = v[kQuantiseCost] * bytes *
                           (from_dram + (1 - from_dram) / v[kQuantiseL2Gain]) /
                           machine_.bytes_per_us;
    const double rows_us = v[kQuantiseRow] * 1e-3 * shape.batch * shape.m;
    best.quantise_us = power_sum(3, v[kQuantiseLaunch], move_us, rows_us);
    best.time_us += best.quantise_us;
  }
  const double slowest = std::max({best.compute_us, best.dram_us, best.l2_us});
  best.bound = best.overhead_us + best.quantise_us > slowest ? "launch"
               : slowest == best.compute_us                  ? "compute"
               : slowest == best.dram_us                     ? "memory"
                                                             : "l2";
  return best;
}

bool GemmAnalytic::is_worth_splitting(double unsplit, double k_of_a_split) const {
  if (unsplit < machine_.sm_count) return k_of_a_split >= kLeastSplit;
  return !machine_.has_fine_tiles && unsplit < kMostSplitWaves * machine_.sm_count &&
         k_of_a_split >= kLeastFillingSplit;
}

GemmTime GemmAnalytic::predict(const GemmShape& shape) const {
  if (machine_.has_tiles_by_rows) return predict(shape, kernel_by_rows(shape));
  const Product product = product_of(shape);
  GemmTime best;
  best.time_us = std::numeric_limits<double>::max();
  for (const Tile& tile : tiles_) {
    const double down = std::ceil(shape.m / tile.m), across = std::ceil(shape.n / tile.n);
    // As many smaller tiles do the same with less.
    if (tile.next_m * down >= shape.m || tile.next_n * across >= shape.n) continue;
    const double unsplit = down * across * shape.batch;
    for (const int splits : kSplits) {
      if (splits == kCoarseSplit && machine_.has_fine_tiles) continue;
      if (splits > 1 && !is_worth_splitting(unsplit, shape.k / splits)) break;
      consider(product, tile, unsplit, splits, best);
    }
  }
  if (!machine_.has_fine_tiles && (shape.m == 1 || shape.n == 1)) consider_vector(product, best);
  return finish(product, best);
}

GemmTime GemmAnalytic::predict(const GemmShape& shape, const GemmKernel& kernel) const {
  const Product product = product_of(shape);
  GemmTime only;
  only.time_us = std::numeric_limits<double>::max();
  const double unsplit =
      std::ceil(shape.m / kernel.tile_m) * std::ceil(shape.n / kernel.tile_n) * shape.batch;
  consider(product, tile_of(kernel.tile_m, kernel.tile_n), unsplit, kernel.splits, only);
  return finish(product, only);
}

GemmTime GemmAnalytic::predict_as(const GemmShape& shape, const GemmTime& choice) const {
  if (std::min(choice.tile_m, choice.tile_n) == 1) {
    const Product product = product_of(shape);
    GemmTime only;
    only.time_us = std::numeric_limits<double>::max();
    consider_vector(product, only);
    return finish(product, only);
  }
  return predict(shape, GemmKernel{.tile_m = static_cast<double>(choice.tile_m),
                                   .tile_n = static_cast<double>(choice.tile_n),
                                   .splits = static_cast<double>(choice.splits)});
}

std::optional<GemmKernel> gemm_kernel(std::string_view name, const GemmShape& shape,
                                      double blocks) {
  const auto tile = read::tile_in(name);
  if (!tile) return std::nullopt;
  const auto [columns, rows] = *tile;
  for (const auto& [m, n] : {std::pair(rows, columns), std::pair(columns, rows)}) {
    const double splits = splits_of(shape, m, n, blocks);
    if (splits > 0) return GemmKernel{.tile_m = m, .tile_n = n, .splits = splits};
  }
  return std::nullopt;
}

}  // namespace inline_prof::model
