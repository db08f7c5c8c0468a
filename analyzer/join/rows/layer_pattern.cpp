#include "join/rows/layer_pattern.hpp"

#include <cctype>
#include <cstddef>

namespace inline_prof::join {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string layer_pattern(std::string_view layer) {
  std::string pattern;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const bool begins_number =
        is_digit(layer[i]) &&
        (i == 0 || std::string_view("_./").find(layer[i - 1]) != std::string_view::npos);
    if (!begins_number) {
      pattern += layer[i];
      continue;
    }
    pattern += '*';
    while (i + 1 < layer.size() && is_digit(layer[i + 1]))
      ++i;
  }
  return pattern;
}

}  // namespace inline_prof::join
