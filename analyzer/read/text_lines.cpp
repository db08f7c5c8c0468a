#include "read/text_lines.hpp"

#include "read/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace inline_prof::read {

std::vector<TextLine> text_lines(std::string_view text) {
  std::vector<TextLine> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({.number = lines.size() + 1, .text = line});
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<std::string_view> words(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> found;
  std::size_t start = line.find_first_not_of(blanks);
  while (start != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, start), line.size());
    found.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(blanks, end);
  }
  return found;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

void fail_at_line(const std::string& label, std::size_t line, std::string_view what) {
  throw InputError(fmt::format("{}: line {}: {}", label, line, what));
}

void fail_at_cell(const std::string& label, std::size_t line, std::string_view column,
                  std::string_view what) {
  throw InputError(fmt::format("{}: line {}, column {}: {}", label, line, column, what));
}

}  // namespace inline_prof::read
