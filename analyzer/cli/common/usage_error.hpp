#pragma once

#include <stdexcept>

namespace inline_prof::cli {

// A command line that cannot be meant; the program ends with status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace inline_prof::cli
