// Words and columns, for every report.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inline_prof::report {

// How many columns a terminal needs for `text`: its UTF-8 code points.
[[nodiscard]] std::size_t columns(std::string_view text);

// `text` without control characters, which could do anything to a terminal, and with bytes that are
// no UTF-8 replaced: each of them becomes a '?'.
[[nodiscard]] std::string printable(std::string_view text);

// `text` cut to `width` columns, "..." in its middle: both ends of a kernel's name tell it apart.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

// A kernel's name as a person writes it: demangled, without its parameter list.
[[nodiscard]] std::string readable_name(std::string_view name);

// Appends "label       text", the text broken between words at `width` columns and indented to its
// own column.
void add_labelled(std::string& out, std::string_view label, std::string_view text,
                  std::size_t width);

// What a status means to the reader.  On a terminal it is a colour, too; never a colour alone.
enum class Mood { kGood, kBad, kUnsure, kPlain };
[[nodiscard]] std::string painted(std::string_view text, Mood mood, bool colour);

}  // namespace inline_prof::report
