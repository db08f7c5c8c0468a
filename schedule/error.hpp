#pragma once

#include "base/text.hpp"

#include <stdexcept>
#include <string>

namespace inline_prof::schedule {

// A request that cannot be used: "FILE: PLACE: what was found, what was expected", for example
//
//   prof.schedule: line 3: 3 fields, expected 4: EVENT ITERATION LAYER OCCURRENCE
//
// Where a request was put together by code there is no file, and the message is the sentence alone.
class ScheduleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ScheduleError(const std::string& file, const std::string& place, const std::string& what)
      : std::runtime_error(file + ": " + place + ": " + what) {}
};

using base::in_quotes;

}  // namespace inline_prof::schedule
