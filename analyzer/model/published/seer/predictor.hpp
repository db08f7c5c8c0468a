// The time of a convolution for each of cuDNN's forward algorithms, and the algorithm to pick.
#pragma once

#include "model/published/seer/block_model.hpp"
#include "model/published/seer/parameters.hpp"
#include "model/published/seer/variants.hpp"

#include <array>
#include <optional>
#include <string>

namespace inline_prof::model::seer {

// What the published program does where one would expect something else (docs/models/seer.md).
struct Rules {
  BlockCountRules blocks;
  bool sentinel_times;         // "cannot be computed so" is a huge time, not the lack of one
  bool keeps_titan_xp_blocks;  // B is the Titan Xp's on every GPU
};
inline constexpr Rules kPublishedRules = {
    .blocks = {.nonfused_halves_columns = true, .winograd_tiles_input = true},
    .sentinel_times = true,
    .keeps_titan_xp_blocks = true};
inline constexpr Rules kCorrectedRules = {
    .blocks = {.nonfused_halves_columns = false, .winograd_tiles_input = false},
    .sentinel_times = false,
    .keeps_titan_xp_blocks = false};

// The published program's times for what cannot be computed, in milliseconds.
inline constexpr double kNoFftMs = 10000.0;      // 4 and 5; a variant that a Titan V has not
inline constexpr double kNoDirectMs = 100000.0;  // 3
inline constexpr double kNoWinogradMs = 200000.0;

struct GpuChoice {
  std::int64_t sm_count = kTitanXpSms;
  bool is_titan_v = false;  // other variants, and no kernels beside the main one
  // Blocks of the kernel that one SM holds (model/occupancy.hpp), where the kernel is known better
  // than by its variant.
  std::optional<std::int64_t> blocks_per_sm = std::nullopt;
};

struct AlgorithmPrediction {
  std::optional<double> time_ms;  // empty: no prediction, and `reason` says why
  std::string reason;
  KernelType type = KernelType::kUnknown;
  std::size_t variant = kNoVariant;     // the one that cuDNN is expected to run
  std::optional<BlockPrediction> main;  // of that variant
  double helpers_ms = 0.0;              // the kernels beside the main one
  double tiles = 0.0;                   // 5: tiles of an image; 4: 1
};

struct Pick {
  std::array<AlgorithmPrediction, kAlgorithmCount> algorithms;
  std::optional<std::size_t> best;  // the first of the shortest; empty: none can be computed
};

class Predictor {
 public:
  // Keeps a reference to `parameters`.  Parameters that an algorithm lacks are complained about
  // when it is asked for.
  Predictor(const Parameters& parameters, Rules rules, GpuChoice gpu = {});

  // Throws std::invalid_argument if the parameters lack what the algorithm needs.
  [[nodiscard]] AlgorithmPrediction predict(Algorithm algorithm,
                                            const read::SeerLayer& layer) const;
  [[nodiscard]] Pick pick(const read::SeerLayer& layer) const;

  // The main kernel of one variant, of which so many blocks were launched (predict() takes the
  // count from the tiles).  Throws std::invalid_argument as predict().
  [[nodiscard]] BlockPrediction main_kernel(std::size_t variant, const read::SeerLayer& layer,
                                            double blocks) const;
  [[nodiscard]] double blocks_of(std::size_t variant, const read::SeerLayer& layer) const;
  // The kernels that algorithms 2 and 7 run beside the main one; 0 for the others.
  [[nodiscard]] double helpers_ms(std::size_t variant, const read::SeerLayer& layer) const;

 private:
  [[nodiscard]] AlgorithmPrediction predict_blocks(Algorithm algorithm,
                                                   const read::SeerLayer& layer) const;
  [[nodiscard]] AlgorithmPrediction predict_fft(const read::SeerLayer& layer) const;
  [[nodiscard]] AlgorithmPrediction predict_fft_tiling(const read::SeerLayer& layer) const;
  [[nodiscard]] AlgorithmPrediction not_computed(double sentinel_ms, std::string reason) const;
  [[nodiscard]] std::size_t pick_variant(Algorithm algorithm, const read::SeerLayer& layer) const;
  [[nodiscard]] const BlockModel& block_model(std::size_t variant) const;
  [[nodiscard]] const std::vector<double>& coefficients(std::string_view model,
                                                        std::string_view kind,
                                                        std::size_t count) const;
  [[nodiscard]] const Tree& tree(std::string_view name) const;
  [[nodiscard]] double resident_blocks(const Variant& variant) const;

  const Parameters* parameters_;
  Rules rules_;
  GpuChoice gpu_;
  std::array<std::optional<BlockModel>, kVariants.size()> block_models_;
  std::array<std::string, kVariants.size()> missing_;  // why there is no block model
};

}  // namespace inline_prof::model::seer
