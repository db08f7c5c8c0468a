#pragma once

#include <stdexcept>

namespace inline_prof::read {

// An input that cannot be used.  what() is "FILE: PLACE: what is wrong, what was expected"; PLACE
// is a JSON pointer (RFC 6901) or "byte N", counted from 1.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace inline_prof::read
