// Reads `op` of prof.json and of layers files.  A template over the node: see members.hpp.
#pragma once

#include "read/op.hpp"

#include <inline_prof/prof_format.hpp>

#include <string>
#include <string_view>

namespace inline_prof::read {

template <typename Node>
[[nodiscard]] Attribute read_attribute(std::string_view name, Node& value) {
  switch (attribute_type(name)) {
    case AttributeType::kInteger:
      if (value.is_array()) {
        std::vector<std::int64_t> list;
        value.each_element([&](auto& element) { list.push_back(element.count()); });
        return list;
      }
      return value.count();
    case AttributeType::kText:
      return value.text();
    case AttributeType::kBoolean:
      return value.boolean();
    case AttributeType::kAny:
      break;
  }
  if (value.is_boolean()) return value.boolean();
  if (value.is_text()) return value.text();
  if (value.is_integer()) return value.integer();
  return value.number();
}

template <typename Node>
[[nodiscard]] Op read_op(const Node& node) {
  Op op;
  node.each_member([&](std::string_view key, Node& value) {
    if (key == format::kKind) {
      if (!op.kind.empty()) value.fail("appears twice in its object");
      op.kind = value.text();
    } else if (key == format::kSource) {
      op.source = value.text();
    } else {
      if (op.find(key) != nullptr) value.fail("appears twice in its object");
      const std::string name(key);
      op.attributes.emplace_back(name, read_attribute(name, value));
    }
  });
  if (op.kind.empty()) node.fail("missing \"kind\"");
  return op;
}

}  // namespace inline_prof::read
