#include "read/root_member.hpp"

#include <algorithm>

namespace inline_prof::read {
namespace {

// Behind the string that opens at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

std::size_t find_root_member(std::string_view text, std::initializer_list<std::string_view> keys) {
  int depth = 0;
  std::size_t at = 0;
  while ((at = text.find_first_of("{}[]\"", at)) != std::string_view::npos) {
    if (text[at] != '"') {
      depth += text[at] == '{' || text[at] == '[' ? 1 : -1;
      ++at;
      continue;
    }
    const std::size_t end = end_of_string(text, at);
    if (end == std::string_view::npos) return end;
    const std::string_view key = text.substr(at + 1, end - at - 2);
    if (depth == 1 && std::ranges::find(keys, key) != keys.end()) {
      const std::size_t colon = skip_blanks(text, end);
      if (colon < text.size() && text[colon] == ':') return skip_blanks(text, colon + 1);
    }
    at = end;
  }
  return at;
}

}  // namespace inline_prof::read
