#pragma once

#include <string_view>

namespace inline_prof::base {

// Returns true if `pattern` describes the whole of `text`: `*` stands for any bytes, also none, `?`
// for one byte, and every other byte for itself. There is no escape and no [set]: kernel names
// contain brackets, and where a `*` in a name matters, `*` finds it. Time is at most the product of
// the two lengths.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace inline_prof::base
