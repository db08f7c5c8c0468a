// Results of the published program on synthetic tables (tests/data/golden/seer/README.md).
#pragma once

#include "model/published/seer/parameters.hpp"
#include "model/published/seer/predictor.hpp"
#include "model/published/seer/seer_fit.hpp"
#include "read/table.hpp"

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

namespace inline_prof::model::seer {

inline const std::filesystem::path kGolden =
    std::filesystem::path(INLINE_PROF_TEST_DATA) / "golden" / "seer";

inline read::Table golden_table(const std::string& name) {
  return read::read_table(kGolden / name);
}

// The published program's own parameters.
inline const Parameters& golden_parameters() {
  static const Parameters parameters = read_seer_parameters(kGolden / "seer_coeffs.csv");
  return parameters;
}

inline const Predictor& published_predictor() {
  static const Predictor predictor(golden_parameters(), Edition::kPublished);
  return predictor;
}

// A number of a golden file; none where it has "nan" or nothing.
inline std::optional<double> golden_number(const read::Table& table, std::size_t row,
                                           const std::string& column) {
  const std::string text = table.cell(row, table.require(column));
  if (text.empty() || text == "nan") return std::nullopt;
  return std::stod(text);
}

// The layer of a row, from the column of the batch on.
inline read::SeerLayer golden_layer(const read::Table& table, std::size_t row) {
  const std::size_t first = table.require("batch");
  std::int64_t value[8] = {};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string text = table.cell(row, first + i);
    if (text != "nan") value[i] = std::stoll(text);
  }
  return {value[0], value[1], value[2], value[3], value[4], value[5], value[6], value[7]};
}

// All tables of the golden half that is for training.
inline fit::SeerTables golden_training() {
  fit::SeerTables tables;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden / "seer_data")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("Other-ops-") || name.ends_with(".train.csv"))
      fit::add_seer_table(tables, read::read_table(entry.path()), model_of_file(entry.path()));
  }
  return tables;
}

inline double relative_difference(double value, double expected) {
  return value == expected ? 0.0 : std::abs(value - expected) / std::abs(expected);
}

}  // namespace inline_prof::model::seer
