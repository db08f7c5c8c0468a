#include "golden.hpp"

#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "read/table.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::test {
namespace {

using model::Part;

Part part_of(const model::Model& model, const model::RowPrediction& prediction,
             const std::string& name) {
  if (name.empty()) return prediction.time_us ? Part(*prediction.time_us) : Part();
  const auto parts = model.parts;
  const auto it = std::find(parts.begin(), parts.end(), name);
  if (it == parts.end()) throw std::logic_error("no part " + name);
  const auto place = static_cast<std::size_t>(it - parts.begin());
  return place < prediction.parts.size() ? prediction.parts[place] : Part();
}

// Whether `part` is what stands in the cell.
bool agrees(const read::Table& table, std::size_t row, std::size_t column, const Part& part,
            double tolerance, double scale) {
  if (const auto* text = std::get_if<std::string>(&part)) return *text == table.cell(row, column);
  const auto* value = std::get_if<double>(&part);
  if (value == nullptr) return table.cell(row, column).empty();
  if (table.cell(row, column).empty()) return false;
  const double expected = table.number(row, column) * scale;
  return std::abs(*value - expected) <= tolerance * std::abs(expected);
}

std::string word(const Part& part) {
  if (const auto* value = std::get_if<double>(&part)) return fmt::format("{}", *value);
  if (const auto* text = std::get_if<std::string>(&part)) return *text;
  return "nothing";
}

}  // namespace

std::string golden_path(const std::string& file) {
  return INLINE_PROF_TEST_DATA "/golden/" + file;
}

void expect_golden(const std::string& model_name, const std::string& file,
                   const std::vector<GoldenColumn>& columns, const std::string& error_column,
                   model::ModelOptions options) {
  const read::Table table = read::read_table(golden_path(file));
  options.input_name = file;
  const auto model = model::find_model(model_name).make(options);
  model::RowReader reader(table, model.inputs);
  ASSERT_GT(table.row_count(), 0U);
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const model::RowPrediction prediction = model.predict(reader.read(i));
    const std::string error =
        error_column.empty() ? "" : table.cell(i, table.require(error_column));
    EXPECT_EQ(prediction.error, error) << file << ": line " << table.line(i);
    EXPECT_NE(prediction.time_us.has_value(), !prediction.reason.empty());
    for (const GoldenColumn& column : columns) {
      const Part part = part_of(model, prediction, column.part);
      const std::size_t place = table.require(column.column);
      EXPECT_TRUE(agrees(table, i, place, part, column.tolerance, column.scale))
          << file << ": line " << table.line(i) << ", column " << column.column << ": "
          << table.cell(i, place) << ", not " << word(part);
    }
  }
}

}  // namespace inline_prof::test
