// The table that prof-model measure --from writes: operations of a run, measured alone on the GPU.
#pragma once

#include "read/input_error.hpp"
#include "read/table.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace inline_prof::read {

struct IsolatedTime {
  double time_us = 0;
  double lower_us = 0;  // of the median
  double upper_us = 0;
  std::string kernel_name;   // empty: not known
  bool is_stand_in = false;  // a kernel of the measuring program in place of the run's own
};

struct IsolatedTimes {
  std::string file;
  std::map<std::string, IsolatedTime> rows;  // by op_text()
};

// Throws InputError, also for an operation that stands there twice.
[[nodiscard]] IsolatedTimes read_isolated(const std::filesystem::path& file);
[[nodiscard]] IsolatedTimes isolated_from(const Table& table);

}  // namespace inline_prof::read
