#include "model/published/seer/golden_files.hpp"
#include "model/published/seer/predictor.hpp"

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
      for (const auto& row : rows) {
        const auto p = published_predictor().predict(
            is_fft ? Algorithm::kFft : Algorithm::kFftTiling, row.layer);
        by_table[name].push_back({row.value, *p.time_ms, p.type});
      }
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

// The rows that `prof-model evaluate` prints of one of SEER's tables, by scope and name.
std::map<std::string, std::vector<double>> judged(const std::string& file) {
  ModelOptions options;
  options.params = kGolden / "seer_coeffs.csv";
  const std::vector<read::Table> tables{golden_table("seer_data/" + file)};
  std::map<std::string, std::vector<double>> rows;
  const auto judgement = judge_tables(options, tables);
  for (const std::vector<Part>& row : judgement->rows) {
    auto& numbers = rows[std::get<std::string>(row[0]) + " " + std::get<std::string>(row[1])];
    for (std::size_t i = 2; i < row.size(); ++i) {
      if (const auto* number = std::get_if<double>(&row[i])) numbers.push_back(*number);
    }
  }
  return rows;
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
  const auto found = judged("conv-test-set-II.csv").at("set2 min_over_algos");
  const Errors errors{static_cast<std::size_t>(found.at(0)), found.at(1), found.at(2)};
  const read::Table table = golden_table("seer_eval_metrics.csv");
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (table.cell(row, table.require("scope")) == "set2") expect_errors(table, row, errors);
  }
}

TEST(GoldenEvaluation, HasTheWrongPicks) {
  const auto found = judged("Algo-pick-set.csv");
  using Row = std::vector<double>;
  // seer_eval_metrics.csv: 3.33 %, 11.67 % and 6.67 % of 120.
  EXPECT_EQ(found.at("pick_original_rule seer_wrong_of_n"), (Row{120, 100.0 * 4 / 120}));
  EXPECT_EQ(found.at("pick_original_rule cudnn_wrong_of_n"), (Row{120, 100.0 * 14 / 120}));
  EXPECT_EQ(found.at("pick_strict_rule seer_wrong_of_n"), (Row{120, 100.0 * 8 / 120}));
}

TEST(GoldenEvaluation, HasTheTypesOfThreeNetworks) {
  const auto count = [](const std::string& name) {
    const auto found = judged(name + ".csv");
    std::vector<double> counts;
    for (const char* type : {"compute", "dram", "resource"})
      counts.push_back(found.at("network_" + std::string(type) + " " + name).at(0));
    return counts;
  };
  using Counts = std::vector<double>;
  EXPECT_EQ(count("network_1"), (Counts{9, 0, 3}));   // VGG-19
  EXPECT_EQ(count("network_2"), (Counts{8, 2, 0}));   // Inception-V1
  EXPECT_EQ(count("network_3"), (Counts{17, 0, 3}));  // ResNet-50
}

}  // namespace
}  // namespace inline_prof::model::seer
