#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <numeric>
#include <vector>

namespace inline_prof::base {
namespace {

constexpr std::size_t kLongestQuote = 80;  // one line of a terminal

constexpr bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Returns the position of the parenthesis that opens the parameter list at the end, npos if there
// is none.
std::size_t parameter_list(std::string_view name) {
  if (name.empty() || name.back() != ')') return std::string_view::npos;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

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

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) {
    if (!is_continuation(c)) ++count;
  }
  return count;
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto is_tail = [](unsigned value) { return (value & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return is_tail(byte(1)) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return byte(1) >= low && byte(1) <= high && is_tail(byte(2)) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return byte(1) >= low && byte(1) <= high && is_tail(byte(2)) && is_tail(byte(3)) ? 4 : 0;
  }
  return 0;
}

std::string in_quotes(std::string_view text) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  std::size_t length = text.size();
  if (length > kLongestQuote) {
    length = kLongestQuote;
    // At most three steps back: text that is not UTF-8 is cut where it is.
    for (int step = 0; step < 3 && is_continuation(text[length]); ++step)
      --length;
  }

  std::string result = "\"";
  for (const char byte : text.substr(0, length)) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code == 0x7F) {
      result += "\\x";
      result += hex_digits[code >> 4U];
      result += hex_digits[code & 0xFU];
    } else {
      if (byte == '"' || byte == '\\') result += '\\';
      result += byte;
    }
  }
  result += length < text.size() ? "...\"" : "\"";
  return result;
}

std::size_t printable_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = utf8_length(text, 0);
  const bool is_c1 = length == 2 && first == 0xC2U && static_cast<unsigned char>(text[1]) < 0xA0U;
  return first < 0x20U || first == 0x7FU || is_c1 ? 0 : length;
}

std::string printable(std::string_view text) {
  // Nearly all names are plain.
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  const auto plain = std::find_if_not(text.begin(), text.end(), is_plain) - text.begin();
  std::string result(text.substr(0, static_cast<std::size_t>(plain)));
  text.remove_prefix(static_cast<std::size_t>(plain));
  while (!text.empty()) {
    const std::size_t taken = std::max<std::size_t>(utf8_length(text, 0), 1);
    if (printable_length(text) == 0) {
      result += '?';
    } else {
      result += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t width) {
  constexpr std::string_view gap = "...";
  if (columns(text) <= width) return std::string(text);
  if (width <= gap.size()) return std::string(gap.substr(0, width));

  std::vector<std::size_t> starts;  // of the code points
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i])) starts.push_back(i);
  }
  const std::size_t kept = width - gap.size();
  const std::size_t head = (kept + 1) / 2;
  std::string result(text.substr(0, starts[head]));
  result += gap;
  if (kept > head) result += text.substr(starts[starts.size() - (kept - head)]);
  return result;
}

std::string readable_name(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  int status = 0;
  // The buffer comes from malloc: the ABI's __cxa_demangle wants it so.
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || demangled == nullptr) return std::string(name);
  const std::string_view readable = demangled.get();
  return std::string(readable.substr(0, parameter_list(readable)));
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

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

std::string_view near_word(std::string_view word, std::span<const std::string_view> known) {
  std::string_view nearest;
  std::size_t least = 3;  // more changes than a slip of the fingers makes
  for (const std::string_view each : known) {
    const std::size_t changes = edit_distance(word, each);
    if (changes >= least) continue;
    least = changes;
    nearest = each;
  }
  return nearest;
}

}  // namespace inline_prof::base
