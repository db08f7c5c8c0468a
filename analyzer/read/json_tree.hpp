// JSON text as a tree whose every node knows where it stands, so that every complaint can say
// where.
#pragma once

#include "base/json.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace inline_prof::read {

// Throws InputError: "LABEL: byte N: not valid JSON: ..." , a number that no double can hold, a
// member that an object has twice, nesting deeper than 64 levels.
[[nodiscard]] base::JsonValue parse_json(std::string_view text, const std::string& label);

class TreeNode {
 public:
  TreeNode(const base::JsonValue& value, const std::string& label) : TreeNode(value, label, "") {}

  [[noreturn]] void fail(std::string_view what) const {
    throw InputError(fmt::format("{}: {}: {}", *label_, pointer_.empty() ? "/" : pointer_, what));
  }
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail(fmt::format("expected {}, found {}", what, base::described(*value_)));
  }

  [[nodiscard]] bool is_null() const { return value_->is(Kind::kNull); }
  [[nodiscard]] bool is_boolean() const { return value_->is(Kind::kBoolean); }
  [[nodiscard]] bool is_text() const { return value_->is(Kind::kString); }
  [[nodiscard]] bool is_array() const { return value_->is(Kind::kArray); }
  [[nodiscard]] bool is_object() const { return value_->is(Kind::kObject); }
  [[nodiscard]] bool is_integer() const { return value_->is(Kind::kInteger); }

  // Calls visit(key, node) for every member.
  template <typename Visit>
  void each_member(Visit&& visit) const {
    if (!is_object()) fail_expected("an object");
    for (const base::JsonMember& member : value_->members) {
      TreeNode node = of_member(member);
      visit(std::string_view(member.key), node);
    }
  }
  template <typename Visit>
  void each_element(Visit&& visit) const {
    if (!is_array()) fail_expected("an array");
    for (std::size_t i = 0; i < value_->members.size(); ++i) {
      TreeNode node{value_->members[i].value, *label_, fmt::format("{}/{}", pointer_, i)};
      visit(node);
    }
  }
  // The member, which has to be there.
  [[nodiscard]] TreeNode member(std::string_view key) const {
    if (!is_object()) fail_expected("an object");
    const base::JsonMember* found = value_->find(key);
    if (found == nullptr) fail(fmt::format("missing \"{}\"", key));
    return of_member(*found);
  }
  [[nodiscard]] bool has(std::string_view key) const { return value_->find(key) != nullptr; }

  // An integer >= 0 that fits into 63 bits.  1.0 is refused: no writer of ours writes it.
  [[nodiscard]] std::int64_t count() const {
    if (!is_integer() || value_->is_negative || value_->magnitude > INT64_MAX)
      fail_expected("an integer >= 0");
    return static_cast<std::int64_t>(value_->magnitude);
  }
  [[nodiscard]] std::int64_t integer() const {
    if (!is_integer() || (!value_->is_negative && value_->magnitude > INT64_MAX))
      fail_expected("an integer");
    return static_cast<std::int64_t>(value_->is_negative ? 0U - value_->magnitude
                                                         : value_->magnitude);
  }
  [[nodiscard]] double number() const {
    if (!value_->is_number()) fail_expected("a number");
    return value_->real;
  }
  [[nodiscard]] std::string text() const {
    if (!is_text()) fail_expected("a string");
    return value_->text;
  }
  [[nodiscard]] bool boolean() const {
    if (!is_boolean()) fail_expected("true or false");
    return value_->boolean;
  }
  void skip() const {}  // the parser has already checked it

 private:
  using Kind = base::JsonValue::Kind;

  TreeNode(const base::JsonValue& value, const std::string& label, std::string pointer)
      : value_(&value), label_(&label), pointer_(std::move(pointer)) {}

  [[nodiscard]] TreeNode of_member(const base::JsonMember& member) const {
    return {member.value, *label_, fmt::format("{}/{}", pointer_, base::pointer_token(member.key))};
  }

  const base::JsonValue* value_;
  const std::string* label_;
  std::string pointer_;
};

// Times in the files that describe an iteration.

// `node` as a duration in microseconds.  Throws what TreeNode::fail throws if it is no number from
// 0 to 1e16, which is three hundred years: sums of such times are still finite.
double duration_us(const TreeNode& node);

}  // namespace inline_prof::read
