#pragma once

#include "read/input_error.hpp"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace inline_prof::join {

// The value that a file gave, or what is wrong with it: the other ranks still make a report.
template <typename Value>
struct Readable {
  std::optional<Value> value;
  std::string complaint;
};

template <typename Read>
[[nodiscard]] auto or_complaint(const Read& read) -> Readable<std::invoke_result_t<const Read&>> {
  try {
    return {read(), {}};
  } catch (const read::InputError& error) {
    return {std::nullopt, error.what()};
  }
}

}  // namespace inline_prof::join
