// Tables: what is accepted can be taken apart and put together again.
#include "base/text.hpp"
#include "property.hpp"
#include "read/table.hpp"

#include <cmath>
#include <cstdint>
#include <string>

namespace {

using namespace inline_prof;

void read_table(const std::string& text) {
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
    try {
      fuzz::require(std::isfinite(table.optional_number(row, 0).value_or(0.0)),
                    "a number is finite");
    } catch (const read::InputError&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::as_text(data, size));
  try {
    read_table(text);
  } catch (const read::InputError&) {
  }
  return 0;
}
