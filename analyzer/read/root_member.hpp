#pragma once

#include <initializer_list>
#include <string_view>

namespace inline_prof::read {

// Returns the place of the value of the first member of the outermost object whose key is one of
// `keys`, npos if there is none.  It looks at brackets and strings only: for text that is not JSON
// it may return anything.
[[nodiscard]] std::size_t find_root_member(std::string_view text,
                                           std::initializer_list<std::string_view> keys);

// Returns the place of the first byte from `at` on that is no blank of JSON's.
[[nodiscard]] std::size_t skip_blanks(std::string_view text, std::size_t at);

}  // namespace inline_prof::read
