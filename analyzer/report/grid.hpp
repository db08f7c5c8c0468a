// A small table of results, in the shapes that people and programs want.
#pragma once

#include "model/model.hpp"

#include <string>
#include <vector>

namespace inline_prof::report {

struct Grid {
  std::vector<std::string> columns;
  std::vector<std::vector<model::Part>> rows;  // as many values as columns
};

enum class GridFormat { kTable, kCsv, kMarkdown, kJson };

// Returns text that ends with an end of line.  kTable and kMarkdown round numbers to five digits;
// kCsv and kJson (a list of objects) hold all of them.
[[nodiscard]] std::string grid_text(const Grid& grid, GridFormat format);

}  // namespace inline_prof::report
