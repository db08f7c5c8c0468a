// The lines of a log, and the words of a line, with their places for complaints.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
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

// A finite number that is the whole word, in any locale; else nothing.
[[nodiscard]] std::optional<double> number_of(std::string_view word);

// Throws InputError "LABEL: line 7: WHAT".
[[noreturn]] void fail_at_line(const std::string& label, std::size_t line, std::string_view what);
// Throws InputError "LABEL: line 7, column busbw: WHAT".
[[noreturn]] void fail_at_cell(const std::string& label, std::size_t line, std::string_view column,
                               std::string_view what);

}  // namespace inline_prof::read
