// The time of a convolution for each of cuDNN's forward algorithms, the algorithm to pick, and the
// time of other operators: README.md beside this file, whose symbols are used here.  The type is
// asked of a tree, not taken from the greatest of the three times.  Milliseconds.
#pragma once

#include "model/published/models.hpp"
#include "model/published/seer/parameters.hpp"
#include "read/seer_tables.hpp"
#include "read/table.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::model::seer {

// Everything that one prediction went through, so that --explain can show it.
struct BlockPrediction {
  double resident_blocks = 0.0;  // B
  double blocks = 0.0;           // L
  double waves = 0.0;            // G
  double tail = 0.0;             // share of B that the last wave fills, (0, 1]
  KernelType type = KernelType::kUnknown;
  double instructions = 0.0;         // I
  double read_ratio = 0.0;           // what the tree of the reads says
  double reads = 0.0;                // R
  double writes = 0.0;               // D
  std::optional<double> compute_ms;  // absent: the type had too few rows to be fitted
  std::optional<double> dram_ms;
  std::optional<double> resource_ms;
  double main_ms = 0.0;  // the one of the three that the type selects
};

// cuDNN pads the output channels of algorithm 1 to its narrowest tile.
inline constexpr std::int64_t kNarrowestTile = 32;

// Returns I from the coefficients of one variant; the variable that f1 is multiplied with is k^2 C,
// or ceil(C/8) for the Winograd algorithms.
[[nodiscard]] double instruction_variable(Algorithm algorithm, const read::SeerLayer& layer);

// Returns the scale of the tree of the reads, which answers R over this: k^2 C, or C for the
// Winograd algorithms.
[[nodiscard]] double read_scale(Algorithm algorithm, const read::SeerLayer& layer);

// Returns the features of the trees, in the order of tree_features(): the first 6 are those of the
// layer, the 7th is L.
[[nodiscard]] std::array<double, 10> traffic_features(const read::SeerLayer& layer, double blocks);

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
  // Keeps a reference to `parameters`.  The published program says with a huge time that an
  // algorithm cannot compute a layer, and gives every GPU the blocks of the Titan Xp.  Parameters
  // that an algorithm lacks are complained about when it is asked for.
  Predictor(const Parameters& parameters, Edition edition, GpuChoice gpu = {})
      : parameters_(&parameters), is_published_(edition == Edition::kPublished), gpu_(gpu) {}

  // Throws std::invalid_argument if the parameters lack what the algorithm needs.
  [[nodiscard]] AlgorithmPrediction predict(Algorithm algorithm,
                                            const read::SeerLayer& layer) const;
  [[nodiscard]] Pick pick(const read::SeerLayer& layer) const;

  // Returns the main kernel of one variant, of which so many blocks were launched (predict() takes
  // the count from the tiles).  Throws std::invalid_argument as predict().
  [[nodiscard]] BlockPrediction main_kernel(std::size_t variant, read::SeerLayer layer,
                                            double blocks) const;
  // Returns the kernels that algorithms 2 and 7 run beside the main one; 0 for the others.
  [[nodiscard]] double helpers_ms(std::size_t variant, const read::SeerLayer& layer) const;

 private:
  [[nodiscard]] AlgorithmPrediction predict_blocks(Algorithm algorithm,
                                                   const read::SeerLayer& layer) const;
  [[nodiscard]] AlgorithmPrediction predict_fft(Algorithm algorithm,
                                                const read::SeerLayer& layer) const;
  [[nodiscard]] AlgorithmPrediction not_computed(double sentinel_ms, std::string reason) const;
  [[nodiscard]] std::size_t pick_variant(Algorithm algorithm, const read::SeerLayer& layer) const;

  const Parameters* parameters_;
  bool is_published_;
  GpuChoice gpu_;
};

// Returns milliseconds.  `forward_ms` is asked for by the gradients only.
// Throws std::invalid_argument if the parameters lack the operator's, or a gradient has no forward
// time.
[[nodiscard]] double predict_operator(const Parameters& parameters, const OperatorEntry& entry,
                                      const read::SeerLayer& layer,
                                      std::optional<double> forward_ms = std::nullopt);

// How SEER is judged, by its own measures on its own sets of tests, and what the command line and
// the names of files mean to it.
struct JudgedTime {
  double measured_ms = 0.0;
  double predicted_ms = 0.0;
  KernelType type = KernelType::kUnknown;  // predicted
};

// SEER calls the first the error rate; it is no mean of absolute errors.
struct Errors {
  std::size_t rows = 0;
  double rmspe_percent = 0.0;  // 100 sqrt(mean((p/t - 1)^2)); 0 where there are no rows
  double rmse_ms = 0.0;
};
// Leaves out what was measured as 0: a relative error needs something to relate to.  `type`: of the
// rows that are predicted to be of it; empty: of all.
[[nodiscard]] Errors errors_of(std::span<const JudgedTime> rows,
                               std::optional<KernelType> type = std::nullopt);

// Test set I, a variant: the main kernel alone, with the measured count of blocks and without the
// kernels beside it; the variant is not guessed.
// Throws std::invalid_argument if the parameters lack what the variant needs.
[[nodiscard]] std::vector<JudgedTime> test_variant(const Predictor& predictor, std::size_t variant,
                                                   std::span<const read::SeerSample> samples);

// Returns the model that a table belongs to, "algo0_32x32": the name of its file without folder,
// ".csv", and ".train" or ".test".
[[nodiscard]] std::string model_of_file(const std::filesystem::path& file);

// The layer in the columns of SEER's models; 0 where a cell is empty.
[[nodiscard]] read::SeerLayer layer_of(const Row& row);

// Without a machine, SEER's own, a Titan Xp.  The published program knows that and the Titan V:
// throws std::invalid_argument for others in the published edition.
[[nodiscard]] GpuChoice gpu_of(const ModelOptions& options);

// SEER's tests of tables in its formats, told by the names of their files: a variant
// ("algo0_32x32"), "algo4_16" ... "algo5", "conv-test-set-II", "Algo-pick-set", "network_..." .  Of
// several tables of test set I the algorithms and the total too.  Empty if a table is none of
// these. Throws read::InputError; std::invalid_argument if the parameters lack what a table needs.
[[nodiscard]] std::optional<Judgement> judge_tables(const ModelOptions& options,
                                                    std::span<const read::Table> tables);

}  // namespace inline_prof::model::seer
