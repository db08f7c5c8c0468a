// How SEER is judged, by its own measures on its own sets of tests, and what the command line and
// the names of files mean to it.
#pragma once

#include "model/published/models.hpp"
#include "model/published/seer/predictor.hpp"
#include "read/seer_tables.hpp"
#include "read/table.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inline_prof::model::seer {

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
[[nodiscard]] read::SeerLayer layer_of(const NamedRow& row);

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
