#pragma once

#include "read/input_error.hpp"

#include <string>

namespace inline_prof::test {

// Returns what `use` says about its input; "" if it takes it.
template <typename Use>
std::string complaint(Use&& use) {
  try {
    static_cast<void>(use());
    return "";
  } catch (const read::InputError& error) {
    return error.what();
  }
}

}  // namespace inline_prof::test
