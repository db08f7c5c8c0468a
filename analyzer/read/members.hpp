// Reads JSON objects by a table of their members.  The tables are templates over the node, so that
// the two parsers (json_tree.hpp, json_stream.hpp) share them: what one accepts the other accepts,
// with the same meaning.  A node is visited once, from front to back.
#pragma once

#include "read/op.hpp"

#include <inline_prof/prof_format.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

inline constexpr std::string_view kAppearsTwice = "appears twice in its object";

template <typename Node, typename Target>
struct Member {
  std::string_view key;  // its length is known to the compiler: it is compared with every key read
  void (*read)(Node& value, Target& target);
};

// Which members of a table an object had: bit i for row i.
using Seen = std::uint64_t;

template <typename Node, typename Target, std::size_t N>
[[nodiscard]] bool has(const std::array<Member<Node, Target>, N>& members, Seen seen,
                       std::string_view key) {
  for (std::size_t i = 0; i < N; ++i) {
    if (members[i].key == key) return (seen >> i & 1U) != 0;
  }
  return false;
}

// Reads the members that the table names and skips the others: a newer writer may add some.
// A member that stands there twice is refused, for nobody can say which one was meant.  (The tree's
// parser has refused it before; the stream's does not look.)
template <typename Node, typename Target, std::size_t N>
Seen read_members(const Node& node, const std::array<Member<Node, Target>, N>& members,
                  Target& target) {
  static_assert(N <= 64, "Seen has 64 bits");
  Seen seen = 0;
  std::set<std::string, std::less<>> others;
  node.each_member([&](std::string_view key, Node& value) {
    for (std::size_t i = 0; i < N; ++i) {
      if (members[i].key != key) continue;
      if ((seen >> i & 1U) != 0) value.fail(kAppearsTwice);
      seen |= Seen{1} << i;
      members[i].read(value, target);
      return;
    }
    if (!others.emplace(key).second) value.fail(kAppearsTwice);
    value.skip();
  });
  return seen;
}

// A list of values, in exactly the memory that they take: most of a large file stays in memory as
// lists.  They are gathered in a vector that is kept from list to list, since vectors that grow
// leave holes between those that stay.  `read` must not read another list of this type.
template <typename Value, typename Node, typename Read>
[[nodiscard]] std::vector<Value> read_list(const Node& node, Read read) {
  constexpr std::size_t longest_kept = std::size_t{1} << 16;
  static thread_local std::vector<Value> gathered;
  gathered.clear();
  node.each_element([&](Node& element) { gathered.push_back(read(element)); });
  std::vector<Value> values(gathered.begin(), gathered.end());
  if (gathered.size() > longest_kept) std::vector<Value>().swap(gathered);
  return values;
}

// Reads `op` of prof.json and of layers files.  A template over the node: see members.hpp.

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
