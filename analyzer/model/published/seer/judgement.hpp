// What prof-model needs beside the model: what the command line means to SEER, and its own tests.
#pragma once

#include "model/model.hpp"
#include "model/published/seer/predictor.hpp"
#include "read/table.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace inline_prof::model::seer {

// The model that a table belongs to: the name of its file without folder, ".csv", and ".train" or
// ".test": "algo0_32x32".
[[nodiscard]] std::string model_of_file(const std::filesystem::path& file);

// The algorithm in the name of a file: 4 for "seer_algo4.csv".
[[nodiscard]] std::optional<Algorithm> algorithm_of_file(const std::filesystem::path& file);

// Without a machine, SEER's own, a Titan Xp.  The published program knows that and the Titan V:
// throws std::invalid_argument for others in compat mode.
[[nodiscard]] GpuChoice gpu_of(const ModelOptions& options);
[[nodiscard]] std::string compute_capability_of(const ModelOptions& options);

// SEER's tests of tables in its formats, told by the names of their files: a variant
// ("algo0_32x32"), "algo4_16" ... "algo5", "conv-test-set-II", "Algo-pick-set", "network_..." .  Of
// several tables of test set I the algorithms and the total too.  Empty if a table is none of
// these. Throws read::InputError; std::invalid_argument if the parameters lack what a table needs.
[[nodiscard]] std::optional<Judgement> judge_tables(const ModelOptions& options,
                                                    std::span<const read::Table> tables);

}  // namespace inline_prof::model::seer
