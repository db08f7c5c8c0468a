#include "read/kernel_tile.hpp"

#include <cctype>
#include <cmath>
#include <cstddef>

namespace inline_prof::read {
namespace {

constexpr double kLeastSide = 8, kLargestSide = 512;

bool is_decimal_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// The number that begins at `place`, which moves behind it; 0 where there is none.
double number_at(std::string_view text, std::size_t& place) {
  double number = 0;
  for (; place < text.size() && is_decimal_digit(text[place]); ++place)
    number = 10 * number + (text[place] - '0');
  return number;
}

bool is_side(double side) {
  return side >= kLeastSide && side <= kLargestSide && std::fmod(side, 8) == 0;
}

}  // namespace

std::optional<std::pair<double, double>> tile_in(std::string_view name) {
  for (std::size_t place = 0; place < name.size(); ++place) {
    if (!is_decimal_digit(name[place]) || (place > 0 && is_decimal_digit(name[place - 1])))
      continue;
    std::size_t next = place;
    const double first = number_at(name, next);
    if (next + 1 >= name.size() || name[next] != 'x') continue;
    ++next;
    const double second = number_at(name, next);
    if (is_side(first) && is_side(second)) return std::pair(first, second);
  }
  return std::nullopt;
}

}  // namespace inline_prof::read
