// Tables: what is accepted can be taken apart and put together again.
#include "base/text.hpp"
#include "property.hpp"
#include "read/table.hpp"

#include <cmath>
#include <string>

using namespace inline_prof;

void fuzz::check(const std::string& text) {
  const read::Table table(text, "fuzz");
  fuzz::require(!table.columns().empty(), "a table has a column");
  std::size_t line = 1;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    fuzz::require(table.line(row) > line, "rows stand one after the other");
    line = table.line(row);
    fuzz::require(text.find(table.row_text(row)) != std::string::npos, "a row is kept as written");
    std::string again = "a,b\n";
    again += base::csv_cell(table.cell(row, 0)) + "," + base::csv_cell("x");
    const read::Table copy(again, "again");
    fuzz::require(copy.cell(0, 1) == "x", "a cell can be written into another table");
    attempt([&] {
      fuzz::require(std::isfinite(table.optional_number(row, 0).value_or(0.0)),
                    "a number is finite");
    });
  }
}
