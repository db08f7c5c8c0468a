#include "read/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <map>

namespace inline_prof::read {
namespace {

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return fmt::format("{}", fmt::join(value, "x"));
  }
};

using Types = std::map<std::string_view, AttributeType>;

// The names of a list as op_kind.hpp has them.
void add_types(Types& types, std::string_view list, AttributeType type) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(", "));
    types.emplace(item.substr(0, item.find(' ')), type);
    list.remove_prefix(std::min(list.size(), item.size() + 2));
  }
}

Types types_of_attributes() {
  // `lookups` are random rows, which prof-model measure reads and prof.json has no word for.
  Types types{{"lookups", AttributeType::kInteger}};
  for (const OpKindEntry& kind : kOpKinds) {
    add_types(types, kind.integers, AttributeType::kInteger);
    add_types(types, kind.texts, AttributeType::kText);
    add_types(types, kind.booleans, AttributeType::kBoolean);
  }
  return types;
}

}  // namespace

std::string attribute_text(const Attribute& value) {
  return std::visit(ValueText(), value);
}

AttributeType attribute_type(std::string_view name) {
  static const Types types = types_of_attributes();
  const auto it = types.find(name);
  return it == types.end() ? AttributeType::kAny : it->second;
}

std::string op_text(const Op& op) {
  constexpr std::array<std::string_view, 3> left_out{"comm", kSequenceAttribute, "source"};
  std::vector<std::string> words;
  for (const auto& [name, value] : op.attributes) {
    if (std::ranges::find(left_out, name) == left_out.end())
      words.push_back(fmt::format("{}={}", name, attribute_text(value)));
  }
  std::ranges::sort(words);
  return fmt::format("{}{}{}", op.kind, words.empty() ? "" : " ", fmt::join(words, " "));
}

std::string sizes_text(const Op& op) {
  constexpr std::array<std::string_view, 3> left_out{"rows_per_block", "shmem", kSequenceAttribute};
  std::string elements;
  std::string bytes;  // depend on the number type: they count where nothing else is known
  for (const auto& [name, value] : op.attributes) {
    if (attribute_type(name) != AttributeType::kInteger ||
        std::ranges::find(left_out, name) != left_out.end())
      continue;
    (name.ends_with("bytes") ? bytes : elements) +=
        fmt::format(" {}={}", name, attribute_text(value));
  }
  return op.kind + (elements.empty() ? bytes : elements);
}

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
