#pragma once

#include <span>
#include <string_view>

namespace inline_prof::base {

// Returns the word of `known` that takes the fewest changes of a byte to reach from `word`, for
// "did you mean". `known` has at least one word.
[[nodiscard]] std::string_view nearest_word(std::string_view word,
                                            std::span<const std::string_view> known);

}  // namespace inline_prof::base
