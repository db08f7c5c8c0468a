#pragma once

#include <string_view>

namespace inline_prof::model {

// A parameter of an improved model: always greater than 0, and fitted as its logarithm.
struct ParameterSpec {
  std::string_view name;  // with its unit, as parameter files spell it
  double start = 1.0;     // what is assumed without a measurement
  double weight = 0.1;    // of this start in a fit: residuals a factor of e away from it
  double least = 0.05;    // of the start: how far a fit may go
  double most = 20.0;     // of the start
  std::string_view meaning;
  double absent = 0.0;  // its value in files from before there was such a parameter; 0: required
  std::string_view told_by = {};  // what would have to be measured for it
};

}  // namespace inline_prof::model
