// The work of a kernel by its name and grid, if nobody has said its operation.
#pragma once

#include "read/machine.hpp"
#include "read/profile.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace inline_prof::model {

struct KnownByName {
  std::string operation;           // "element-wise CUDAFunctor_add"
  std::int64_t element_bytes = 0;  // of one operand; 0: not known
  int operands = 0;                // read and written, each once; 0: not known
  // Elements of the grid, whose last block may not be full; 0: not known.
  std::int64_t least_elements = 0;
  std::int64_t most_elements = 0;

  // Returns whether the count is known so well that the bytes are a bound, and no upper limit.
  [[nodiscard]] bool is_close() const {
    constexpr double close = 0.1;
    return static_cast<double>(most_elements - least_elements) <=
           close * static_cast<double>(most_elements);
  }
};

// `name` as people read it.  Empty for a name of no library that is known.
[[nodiscard]] std::optional<KnownByName> known_by_name(std::string_view name,
                                                       const read::LaunchShape& launch);

// Returns the least and the most that the kernel may move; empty where the name does not tell.
[[nodiscard]] std::optional<std::pair<read::Op, read::Op>> movements_by_name(
    const KnownByName& known);

// Returns it in words, with the least time on this machine (null: none) where the bytes are known.
[[nodiscard]] std::string known_by_name_text(const KnownByName& known,
                                             const read::Machine* machine);

}  // namespace inline_prof::model
