// JSON text as a tree whose every node knows where it stands, so that every complaint can say
// where. Include this in .cpp files only.
#pragma once

#include "read/input_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::read {

// Throws InputError: "LABEL: byte N: not valid JSON: ..." , a number that no double can hold, a
// member that an object has twice, nesting deeper than kMaxJsonDepth.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& label);

inline constexpr int kMaxJsonDepth = 64;

// `text` as it stands between two slashes of a JSON pointer (RFC 6901).
[[nodiscard]] std::string pointer_token(std::string_view text);

class TreeNode {
 public:
  using Json = nlohmann::json;

  TreeNode(const Json& value, const std::string& label) : TreeNode(value, label, "") {}

  [[noreturn]] void fail(std::string_view what) const {
    throw InputError(fmt::format("{}: {}: {}", *label_, pointer_.empty() ? "/" : pointer_, what));
  }
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail(fmt::format("expected {}, found {}", what, found()));
  }

  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool is_boolean() const { return value_->is_boolean(); }
  [[nodiscard]] bool is_text() const { return value_->is_string(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }
  [[nodiscard]] bool is_integer() const { return value_->is_number_integer(); }

  // Calls visit(key, node) for every member.
  template <typename Visit>
  void each_member(Visit&& visit) const {
    if (!value_->is_object()) fail_expected("an object");
    for (const auto& item : value_->items()) {
      TreeNode node{item.value(), *label_,
                    fmt::format("{}/{}", pointer_, pointer_token(item.key()))};
      visit(std::string_view(item.key()), node);
    }
  }
  template <typename Visit>
  void each_element(Visit&& visit) const {
    if (!value_->is_array()) fail_expected("an array");
    for (std::size_t i = 0; i < value_->size(); ++i) {
      TreeNode node{(*value_)[i], *label_, fmt::format("{}/{}", pointer_, i)};
      visit(node);
    }
  }
  // The member, which has to be there.
  [[nodiscard]] TreeNode member(std::string_view key) const {
    if (!value_->is_object()) fail_expected("an object");
    const auto it = value_->find(key);
    if (it == value_->end()) fail(fmt::format("missing \"{}\"", key));
    return {*it, *label_, fmt::format("{}/{}", pointer_, pointer_token(key))};
  }
  [[nodiscard]] bool has(std::string_view key) const { return value_->contains(key); }

  // An integer >= 0 that fits into 63 bits.  1.0 is refused: no writer of ours writes it.
  [[nodiscard]] std::int64_t count() const {
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > INT64_MAX) {
      fail_expected("an integer >= 0");
    }
    return value_->get<std::int64_t>();
  }
  [[nodiscard]] std::int64_t integer() const {
    const bool too_large = value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX;
    if (!value_->is_number_integer() || too_large) fail_expected("an integer");
    return value_->get<std::int64_t>();
  }
  [[nodiscard]] double number() const {
    if (!value_->is_number()) fail_expected("a number");
    return value_->get<double>();
  }
  [[nodiscard]] std::string text() const {
    if (!value_->is_string()) fail_expected("a string");
    return value_->get<std::string>();
  }
  [[nodiscard]] bool boolean() const {
    if (!value_->is_boolean()) fail_expected("true or false");
    return value_->get<bool>();
  }
  void skip() const {}  // the parser has already checked it

 private:
  TreeNode(const Json& value, const std::string& label, std::string pointer)
      : value_(&value), label_(&label), pointer_(std::move(pointer)) {}

  [[nodiscard]] std::string found() const;

  const Json* value_;
  const std::string* label_;
  std::string pointer_;
};

}  // namespace inline_prof::read
