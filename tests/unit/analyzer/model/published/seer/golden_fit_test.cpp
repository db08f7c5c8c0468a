#include "model/published/seer/golden_files.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace inline_prof::model::seer {
namespace {

const fit::SeerFit& golden_fit() {
  static const fit::SeerFit fit = fit::fit_seer(golden_training(), {.keeps_sparse_types = true});
  return fit;
}

TEST(GoldenFit, HasTheExactLeastSquares) {
  const read::Table table = golden_table("seer_coeffs.csv");
  ASSERT_GT(table.row_count(), 200U);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string model = table.cell(row, table.require("model"));
    const std::string kind = table.cell(row, table.require("kind"));
    const auto place = static_cast<std::size_t>(table.cell(row, table.require("coef"))[0] - 'a');
    const auto* found = golden_fit().parameters.find(model, kind);
    ASSERT_NE(found, nullptr) << model << ' ' << kind;
    const double value = found->at(place);
    const auto exact = golden_number(table, row, "exact_lls");
    if (exact) {
      EXPECT_LE(relative_difference(value, *exact), 1e-8) << model << ' ' << kind << place;
    }
    // The published fitter stops earlier; where a type has no rows it leaves its start, ones.
    EXPECT_LE(relative_difference(value, *golden_number(table, row, "nlinfit")), exact ? 1e-6 : 0.0)
        << model << ' ' << kind << place;
  }
}

TEST(GoldenFit, CountsTheRowsOfEachSet) {
  const read::Table table = golden_table("seer_coeffs.csv");
  std::map<std::string, std::size_t> rows;
  for (const fit::SeerFitQuality& quality : golden_fit().quality) {
    rows[quality.model + ' ' + quality.kind] = quality.rows;
  }
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const std::string key =
        table.cell(row, table.require("model")) + ' ' + table.cell(row, table.require("kind"));
    EXPECT_EQ(static_cast<double>(rows.at(key)), *golden_number(table, row, "n_train")) << key;
  }
}

TEST(GoldenFit, HasIdenticalTrees) {
  const auto& expected = golden_parameters().trees;
  ASSERT_EQ(expected.size(), 55U);
  for (const auto& [name, tree] : expected) {
    const Tree& found = golden_fit().parameters.need_tree(name);
    ASSERT_EQ(found.nodes.size(), tree.nodes.size()) << name;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& a = found.nodes[i];
      const TreeNode& b = tree.nodes[i];
      EXPECT_TRUE(a.feature == b.feature && a.threshold == b.threshold && a.left == b.left &&
                  a.right == b.right && a.row_count == b.row_count)
          << name << ", node " << i;
      EXPECT_LE(relative_difference(a.value, b.value), 1e-12) << name << ", node " << i;
    }
  }
}

}  // namespace
}  // namespace inline_prof::model::seer
