#include "base/glob.hpp"

#include <cstddef>

namespace inline_prof::base {

// Only the last star met needs to be tried again: whatever an earlier one could take in addition,
// the last can take as well.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t in_pattern = 0;
  std::size_t in_text = 0;
  std::size_t after_star = std::string_view::npos;  // in the pattern, behind the last star met
  std::size_t star_end = 0;                         // in the text, where that star's share ends
  while (in_text < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      after_star = ++in_pattern;
      star_end = in_text;
    } else if (in_pattern < pattern.size() &&
               (pattern[in_pattern] == '?' || pattern[in_pattern] == text[in_text])) {
      ++in_pattern;
      ++in_text;
    } else if (after_star != std::string_view::npos) {
      in_pattern = after_star;
      in_text = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

}  // namespace inline_prof::base
