#pragma once

#include <stdexcept>

namespace inline_prof::sys {

// An invalid setting: "NAME=VALUE: expected ...".  Ends profiling, never the application.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace inline_prof::sys
