// What a kernel's name and grid tell of its work, where nobody has said its operation.
#pragma once

#include "read/machine.hpp"
#include "read/profile.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inline_prof::model {

struct KnownByName {
  std::string operation;           // "element-wise CUDAFunctor_add"
  std::int64_t element_bytes = 0;  // of one operand; 0: not known
  int operands = 0;                // read and written, each once; 0: not known
  // Of the grid's elements, which the last block may not have all of; 0: not known.
  std::int64_t least_elements = 0;
  std::int64_t most_elements = 0;

  // The count is known so well that the bytes are a bound; else they are at most that many.
  [[nodiscard]] bool is_close() const {
    constexpr double close = 0.1;
    return static_cast<double>(most_elements - least_elements) <=
           close * static_cast<double>(most_elements);
  }
};

// `name` as people read it.  Empty for a name of no library that is known.
[[nodiscard]] std::optional<KnownByName> known_by_name(std::string_view name,
                                                       const read::LaunchShape& launch);

// In words, with the least time on this machine (null: none) where the bytes are known.
[[nodiscard]] std::string known_by_name_text(const KnownByName& known,
                                             const read::Machine* machine);

}  // namespace inline_prof::model
