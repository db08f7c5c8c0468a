// The name by which ranks know one collective.
#pragma once

#include "read/profile.hpp"

#include <string>

namespace inline_prof::join {

[[nodiscard]] bool is_collective(const read::Event& event);

// "COMM SEQUENCE" of a collective, the same on every rank that takes part; empty if the file does
// not say both.
[[nodiscard]] std::string communicator_of(const read::Op& op);

}  // namespace inline_prof::join
