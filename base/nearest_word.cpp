#include "base/nearest_word.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

namespace inline_prof::base {
namespace {

// Longer words are compared by their first bytes only.
constexpr std::size_t kLongestWord = 64;

// Returns how many bytes must be inserted, removed or replaced to turn `a` into `b`. V.
// Levenshtein, "Binary codes capable of correcting deletions, insertions and reversals", Soviet
// Physics Doklady 10(8), 1966; row by row as in R. Wagner and M. Fischer, "The string-to-string
// correction problem", Journal of the ACM 21(1), 1974, doi:10.1145/321796.321811.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestWord);
  b = b.substr(0, kLongestWord);
  std::array<std::size_t, kLongestWord + 1> row{};  // from a's first i bytes to b's first j
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  return *std::min_element(known.begin(), known.end(), [word](auto a, auto b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
}

}  // namespace inline_prof::base
