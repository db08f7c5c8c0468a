// A trace inside a larger JSON document.  Include this in .cpp files only.
#pragma once

#include "read/json_tree.hpp"
#include "read/trace.hpp"

namespace inline_prof::read {

// Throws InputError, with the place in the whole document.
[[nodiscard]] Trace trace_from(const TreeNode& node, const std::string& label);

}  // namespace inline_prof::read
