// Prepares names and words from files for terminals and other programs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace inline_prof::base {

// Returns how many columns a terminal needs for `text`: its UTF-8 code points.
[[nodiscard]] std::size_t columns(std::string_view text);

// Returns the length of the UTF-8 sequence that starts at `at`, 0 if none does (The Unicode
// Standard 15.0, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at);

// Returns `text` in double quotes, fit for one line of a message: control bytes and quotes are
// escaped, and text longer than 80 bytes is cut.
[[nodiscard]] std::string in_quotes(std::string_view text);

// Returns the length of the UTF-8 sequence that `text` begins with; 0 if it begins with none, or
// with a control character (C0, DEL, or C1: U+0080 to U+009F).
[[nodiscard]] std::size_t printable_length(std::string_view text);

// Returns `text` without control characters, which could control a terminal, and without bytes that
// are no UTF-8: each becomes a '?'.
[[nodiscard]] std::string printable(std::string_view text);

// Returns `text` cut to `width` columns, "..." in its middle: both ends of a kernel's name tell it
// apart.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

// Returns a kernel's name as a person writes it: demangled, without its parameter list.
[[nodiscard]] std::string readable_name(std::string_view name);

// Writes values into a table of comma-separated values (RFC 4180).

// Returns `text` as a cell: in quotes if it holds a comma, a quote or a line break.
[[nodiscard]] std::string csv_cell(std::string_view text);

// Returns true if `pattern` describes the whole of `text`: `*` stands for any bytes, also none, `?`
// for one byte, and every other byte for itself. There is no escape and no [set]: kernel names
// contain brackets, and where a `*` in a name matters, `*` finds it. Time is at most the product of
// the two lengths.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

// Returns the word of `known` that takes the fewest changes of a byte to reach from `word`, for
// "did you mean"; the empty text if each takes more than two.
[[nodiscard]] std::string_view near_word(std::string_view word,
                                         std::span<const std::string_view> known);

}  // namespace inline_prof::base
