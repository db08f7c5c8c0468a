// Published measurements, of every kind: what is accepted is a table that can be read again.
#include "property.hpp"
#include "read/measurements/measurements.hpp"
#include "read/table.hpp"

#include <string>
#include <vector>

namespace {

using namespace inline_prof;

void require_table(const read::Measurements& measurements) {
  fuzz::require(!measurements.columns.empty(), "a table has a column");
  for (const auto& row : measurements.rows)
    fuzz::require(row.size() == measurements.columns.size(), "a row has a cell for each column");
  const read::Table table(read::csv_text(measurements), "again");
  fuzz::require(table.columns() == measurements.columns, "columns read back");
  fuzz::require(table.row_count() == measurements.rows.size(), "rows read back");
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    for (std::size_t column = 0; column < measurements.columns.size(); ++column)
      fuzz::require(table.cell(row, column) == measurements.rows[row][column], "cells read back");
  }
}

}  // namespace

void fuzz::check(const std::string& text) {
  for (const std::string& kind : read::table_kinds()) {
    for (const read::ConvertSettings& settings :
         {read::ConvertSettings{}, read::ConvertSettings{{"num_gpus", "4"}, {"type", "f16"}}}) {
      attempt([&] {
        const read::Measurements found = read::measurements_from(text, "fuzz", kind, settings);
        require_table(found);
        require_table(read::joined({found, found}));
      });
    }
  }
}
