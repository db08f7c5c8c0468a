#include "read/isolated.hpp"

#include <fmt/format.h>

namespace inline_prof::read {

IsolatedTimes read_isolated(const std::filesystem::path& file) {
  return isolated_from(read_table(file));
}

IsolatedTimes isolated_from(const Table& table) {
  const std::size_t operation = table.require("operation");
  const std::size_t time = table.require("time_us");
  const std::size_t lower = table.require("time_lower_us");
  const std::size_t upper = table.require("time_upper_us");
  const std::size_t kernel = table.require("kernel_name");
  const std::size_t stand_in = table.require("stand_in");
  IsolatedTimes times{.file = table.label(), .rows = {}};
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const IsolatedTime found{.time_us = table.number(row, time),
                             .lower_us = table.number(row, lower),
                             .upper_us = table.number(row, upper),
                             .kernel_name = table.cell(row, kernel),
                             .is_stand_in = table.cell(row, stand_in) == "true"};
    if (found.time_us <= 0)
      table.fail(row, time, fmt::format("expected a time > 0, found {}", found.time_us));
    if (found.lower_us > found.time_us || found.upper_us < found.time_us)
      table.fail(row, time,
                 fmt::format("expected a time between {} and {}, found {}", found.lower_us,
                             found.upper_us, found.time_us));
    if (!times.rows.emplace(table.cell(row, operation), found).second)
      table.fail(row, operation, "this operation stands in an earlier line, too");
  }
  return times;
}

}  // namespace inline_prof::read
