// The name by which ranks know one collective.
#pragma once

#include "read/profile.hpp"

#include <set>
#include <string>

namespace inline_prof::join {

[[nodiscard]] bool is_collective(const read::Event& event);

// A send, a receive, or a group of these: it waits for its partner alone, and no two ranks make the
// same.
[[nodiscard]] bool is_point_to_point(const read::Op& op);

// "COMM SEQUENCE" of a collective, the same on every rank that takes part; empty if the file does
// not say both.
[[nodiscard]] std::string communicator_of(const read::Op& op);

// The communicators of the sends and receives, as far as the file says them.
[[nodiscard]] std::set<std::string> exchanges_of(const read::Profile& profile);

}  // namespace inline_prof::join
