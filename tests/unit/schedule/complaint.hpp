#pragma once

#include "schedule/error.hpp"

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
  std::string text;
  const char* complaint;
};

}  // namespace inline_prof::schedule
