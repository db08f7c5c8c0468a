#include "read/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

}  // namespace inline_prof::read
