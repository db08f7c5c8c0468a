#include "report/text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace inline_prof::report {

void add_labelled(std::string& out, std::string_view label, std::string_view text,
                  std::size_t width) {
  constexpr std::size_t kLabelWidth = 12;
  std::string indent = fmt::format("{:<{}}", label, kLabelWidth);
  const std::string clean = printable(text);
  std::string_view rest = clean;
  const std::size_t room = width - kLabelWidth;
  do {
    std::size_t length = rest.size();
    if (length > room) {
      const std::size_t blank = rest.rfind(' ', room);
      length = blank == std::string_view::npos || blank == 0 ? rest.find(' ', room) : blank;
      if (length == std::string_view::npos) length = rest.size();
    }
    fmt::format_to(std::back_inserter(out), "{}{}\n", indent, rest.substr(0, length));
    indent.assign(kLabelWidth, ' ');
    rest.remove_prefix(length);
    while (rest.starts_with(' '))
      rest.remove_prefix(1);
  } while (!rest.empty());
}

std::string painted(std::string_view text, Mood mood, bool colour) {
  if (!colour || mood == Mood::kPlain) return std::string(text);
  const int code = mood == Mood::kGood ? 32 : mood == Mood::kBad ? 31 : 33;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace inline_prof::report
