// Names and words that come from files, as a terminal and other programs can take them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inline_prof::base {

// How many columns a terminal needs for `text`: its UTF-8 code points.
[[nodiscard]] std::size_t columns(std::string_view text);

// Returns the length of the UTF-8 sequence that starts at `at`, 0 if none does (The Unicode
// Standard 15.0, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at);

// `text` in double quotes, fit for one line of a message: control bytes and quotes are escaped, and
// what is longer than 80 bytes is cut.
[[nodiscard]] std::string in_quotes(std::string_view text);

// Returns the length of the UTF-8 sequence that `text` begins with; 0 if it begins with none, or
// with a control character (C0, DEL, or C1: U+0080 to U+009F).
[[nodiscard]] std::size_t printable_length(std::string_view text);

// `text` without control characters, which could do anything to a terminal, and with bytes that are
// no UTF-8 replaced: each of them becomes a '?'.
[[nodiscard]] std::string printable(std::string_view text);

// `text` cut to `width` columns, "..." in its middle: both ends of a kernel's name tell it apart.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

// A kernel's name as a person writes it: demangled, without its parameter list.
[[nodiscard]] std::string readable_name(std::string_view name);

}  // namespace inline_prof::base
