#include "report/text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace inline_prof::report {
namespace {

// Returns "kernel" for "a::(anonymous namespace)::kernel<int, b::C<4>>".
std::string_view own_name(std::string_view name) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    const bool is_qualifier = depth == 0 && (name.substr(i).starts_with("::") || name[i] == ' ');
    if (is_qualifier) begin = i + (name[i] == ' ' ? 1 : 2);
  }
  name.remove_prefix(begin);
  return name.substr(0, name.find_first_of("<("));
}

}  // namespace

void add_labelled(std::string& out, std::string_view label, std::string_view text,
                  std::size_t width) {
  constexpr std::size_t label_width = 12;
  std::string indent = fmt::format("{:<{}}", label, label_width);
  const std::string clean = printable(text);
  std::string_view rest = clean;
  const std::size_t room = width - label_width;
  do {
    std::size_t length = rest.size();
    if (length > room) {
      const std::size_t blank = rest.rfind(' ', room);
      length = blank == std::string_view::npos || blank == 0 ? rest.find(' ', room) : blank;
      if (length == std::string_view::npos) length = rest.size();
    }
    fmt::format_to(std::back_inserter(out), "{}{}\n", indent, rest.substr(0, length));
    indent.assign(label_width, ' ');
    rest.remove_prefix(length);
    while (rest.starts_with(' '))
      rest.remove_prefix(1);
  } while (!rest.empty());
}

std::string readable_event(std::string_view event, std::string_view source) {
  std::string name = readable_name(event);
  if (source.empty() || name.find('<') == std::string::npos) return name;
  const std::string_view own = own_name(name);
  return own.empty() ? name : fmt::format("{} {}", source, own);
}

std::string grouped(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  constexpr std::ptrdiff_t digits_of_a_group = 3;
  for (std::ptrdiff_t at = std::ssize(text) - digits_of_a_group; at > (number < 0 ? 1 : 0);
       at -= digits_of_a_group)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string painted(std::string_view text, Mood mood, bool colour) {
  if (!colour || mood == Mood::kPlain) return std::string(text);
  const int code = mood == Mood::kGood ? 32 : mood == Mood::kBad ? 31 : 33;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace inline_prof::report
