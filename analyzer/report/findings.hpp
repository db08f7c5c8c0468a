#pragma once

#include "join/analysis.hpp"

#include <string>

namespace inline_prof::report {

// The report in three sentences, for somebody who reads no further.
struct Findings {
  std::string what;  // how long, and how much of it is understood
  std::string why;   // what takes longer than it should, or that nothing can be said to
  std::string next;  // what to do about it
};

[[nodiscard]] Findings findings(const join::Analysis& analysis);

}  // namespace inline_prof::report
