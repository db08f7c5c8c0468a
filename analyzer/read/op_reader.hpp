// Reads `op` of prof.json and of layers files.  A template over the node: see members.hpp.
#pragma once

#include "read/members.hpp"
#include "read/op.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

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
      // PROFILE_OP carries integers and strings only, so what it says of a yes or no is 1 or 0.
      if (value.is_integer()) {
        const std::int64_t number = value.count();
        if (number > 1) value.fail(fmt::format("expected true, false, 1 or 0, found {}", number));
        return number == 1;
      }
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
  bool has_kind = false;
  bool has_source = false;
  node.each_member([&](std::string_view key, Node& value) {
    if (key == format::op::kKind.key) {
      if (has_kind) value.fail(kAppearsTwice);
      has_kind = true;
      op.kind = value.text();
    } else if (key == format::op::kSource.key) {
      if (has_source) value.fail(kAppearsTwice);
      has_source = true;
      op.source = value.text();
    } else {
      if (op.find(key) != nullptr) value.fail(kAppearsTwice);
      const std::string name(key);
      op.attributes.emplace_back(name, read_attribute(name, value));
    }
  });
  if (op.kind.empty()) node.fail("missing \"kind\"");
  op.attributes.shrink_to_fit();
  return op;
}

}  // namespace inline_prof::read
