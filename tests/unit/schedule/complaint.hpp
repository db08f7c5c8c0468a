#pragma once

#include "schedule/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::schedule {

// Returns the message of the exception that `work` throws, or "no complaint".
template <typename Work>
std::string complaint_of(Work&& work) {
  try {
    static_cast<void>(work());
  } catch (const ScheduleError& error) {
    return error.what();
  }
  return "no complaint";
}

// A row of a table of bad inputs.
struct BadInput {
  const char* name;
  std::string text;
  const char* complaint;

  friend void PrintTo(const BadInput& row, std::ostream* out) { *out << in_quotes(row.text); }
};

inline std::string name_of(const testing::TestParamInfo<BadInput>& row) {
  return row.param.name;
}

}  // namespace inline_prof::schedule
