#include "model/published/seer/evaluation.hpp"
#include "model/published/seer/golden_files.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace inline_prof::model::seer {
namespace {

// Test set I: the rows of each table, in the order of the golden file's.
const std::map<std::string, std::vector<JudgedTime>>& set_one() {
  static const auto judged = [] {
    std::map<std::string, std::vector<JudgedTime>> by_table;
    const fit::SeerTables tables = golden_training("test");
    for (const auto& [name, samples] : tables.variants) {
      by_table[name] = test_variant(published_predictor(), find_variant(name), samples);
    }
    for (const auto& [name, rows] : tables.timed) {
      const bool is_fft = name.starts_with("algo4_");
      if (!is_fft && name != "algo5") continue;
      by_table[name] = test_layers(published_predictor(),
                                   is_fft ? Algorithm::kFft : Algorithm::kFftTiling, rows);
    }
    return by_table;
  }();
  return judged;
}

// The golden file has 12 digits.
void expect_errors(const read::Table& table, std::size_t row, const Errors& errors) {
  EXPECT_EQ(static_cast<double>(errors.rows), *golden_number(table, row, "n"));
  EXPECT_LE(relative_difference(errors.rmspe_percent, *golden_number(table, row, "rmspe_percent")),
            1e-11);
  EXPECT_LE(relative_difference(errors.rmse_ms, *golden_number(table, row, "rmse_ms")), 1e-11);
}

std::vector<read::SeerPickRow> golden_picks() {
  return read::read_seer_picks(golden_table("seer_data/Algo-pick-set.csv"));
}

TEST(GoldenEvaluation, HasEachRowOfTestSetOne) {
  const read::Table table = golden_table("seer_eval_set1_rows.csv");
  ASSERT_GT(table.row_count(), 1500U);
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const std::string variant = table.cell(i, table.require("variant"));
    const auto row = static_cast<std::size_t>(*golden_number(table, i, "row"));
    const JudgedTime& judged = set_one().at(variant).at(row);
    EXPECT_LE(relative_difference(judged.measured_ms, *golden_number(table, i, "t_measured")),
              1e-12);
    EXPECT_LE(relative_difference(judged.predicted_ms, *golden_number(table, i, "t_pred")), 1e-12)
        << variant << ", row " << row;
  }
}

TEST(GoldenEvaluation, HasTheErrorsOfVariantsAlgorithmsAndAll) {
  std::map<std::string, std::vector<JudgedTime>> scopes = set_one();
  for (const auto& [name, rows] : set_one()) {
    for (const std::string& scope : {name.substr(0, 5), std::string("all")}) {
      auto& all = scopes[scope == name ? "algo5" : scope];
      if (scope == name) continue;  // one table is the algorithm
      all.insert(all.end(), rows.begin(), rows.end());
    }
  }
  const read::Table table = golden_table("seer_eval_metrics.csv");
  std::size_t compared = 0;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (!table.cell(row, table.require("scope")).starts_with("set1_")) continue;
    SCOPED_TRACE(table.cell(row, table.require("name")));
    expect_errors(table, row, errors_of(scopes.at(table.cell(row, table.require("name")))));
    ++compared;
  }
  EXPECT_EQ(compared, 30U);
}

TEST(GoldenEvaluation, HasTheErrorsByType) {
  const std::map<std::string, KernelType> types = {{"compute", KernelType::kCompute},
                                                   {"dram", KernelType::kDram},
                                                   {"resource", KernelType::kUnderUtilised}};
  const read::Table table = golden_table("seer_eval_by_type.csv");
  std::size_t compared = 0;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const auto type = types.find(table.cell(row, table.require("type_predicted")));
    if (type == types.end()) continue;
    const std::string name = table.cell(row, table.require("name"));
    const Errors errors = errors_of(set_one().at(name), type->second);
    // The file has four places behind the point.
    EXPECT_NEAR(errors.rmspe_percent, *golden_number(table, row, "rmspe_percent_4dp"), 0.51e-4)
        << name;
    EXPECT_NEAR(errors.rmse_ms, *golden_number(table, row, "rmse_ms_4dp"), 0.51e-4) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 48U);
}

TEST(GoldenEvaluation, HasTheErrorOfTestSetTwo) {
  const auto rows = read::read_seer_timed_layers(golden_table("seer_data/conv-test-set-II.csv"));
  const Errors errors = errors_of(test_layers(published_predictor(), std::nullopt, rows));
  const read::Table table = golden_table("seer_eval_metrics.csv");
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (table.cell(row, table.require("scope")) == "set2") expect_errors(table, row, errors);
  }
}

TEST(GoldenEvaluation, HasTheWrongPicks) {
  const PickErrors published =
      test_picks(published_predictor(), golden_picks(), PickRule::kPublished);
  const PickErrors strict = test_picks(published_predictor(), golden_picks(), PickRule::kStrict);
  // seer_eval_metrics.csv: 3.33 %, 11.67 % and 6.67 % of 120.
  EXPECT_EQ(published.rows, 120U);
  EXPECT_EQ(published.wrong, 4U);
  EXPECT_EQ(published.wrong_cudnn, 14U);
  EXPECT_EQ(strict.wrong, 8U);
}

TEST(GoldenEvaluation, HasTheTypesOfThreeNetworks) {
  const auto count = [](const std::string& file) {
    const read::Table table = golden_table(file);
    std::vector<read::SeerLayer> layers;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
      layers.push_back(golden_layer(table, row, "batch_size"));
    }
    return count_types(published_predictor(), layers);
  };
  using Counts = std::array<std::size_t, 3>;
  EXPECT_EQ(count("seer_data/network_1.csv"), (Counts{9, 0, 3}));   // VGG-19
  EXPECT_EQ(count("seer_data/network_2.csv"), (Counts{8, 2, 0}));   // Inception-V1
  EXPECT_EQ(count("seer_data/network_3.csv"), (Counts{17, 0, 3}));  // ResNet-50
}

}  // namespace
}  // namespace inline_prof::model::seer
