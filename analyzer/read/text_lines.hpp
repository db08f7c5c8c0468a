// The lines of a log, and the words of a line, with their places for complaints.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace inline_prof::read {

struct TextLine {
  std::size_t number = 0;  // from 1
  std::string_view text;   // without its end
};

// The lines of `text`, which must outlive them; the end may be \n or \r\n.
[[nodiscard]] std::vector<TextLine> text_lines(std::string_view text);

// Returns the words between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> words(std::string_view line);

[[nodiscard]] std::string lower(std::string_view text);

// A finite number that is the whole word, in any locale; else nothing.
template <typename Number = double>
[[nodiscard]] std::optional<Number> number_of(std::string_view word) {
  Number value{};
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(static_cast<double>(value)))
    return std::nullopt;
  return value;
}

// Throws InputError "LABEL: line 7: WHAT".
[[noreturn]] void fail_at_line(const std::string& label, std::size_t line, std::string_view what);
// Throws InputError "LABEL: line 7, column busbw: WHAT".
[[noreturn]] void fail_at_cell(const std::string& label, std::size_t line, std::string_view column,
                               std::string_view what);

}  // namespace inline_prof::read
