// JSON text as a stream of nodes, for files of hundreds of megabytes: nothing is kept but what the
// reader takes.  It knows no places: whatever it does not like ends in StreamGivesUp, and the tree
// of json_tree.hpp, which accepts the same documents, says what is wrong and where. Include this in
// .cpp files only.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace inline_prof::read {

class StreamGivesUp {};

// A value that is visited once, from front to back.
class StreamNode {
  template <typename Result>
  static auto take(Result&& result) {
    if (result.error() != simdjson::SUCCESS) fail("");
    return std::forward<Result>(result).value_unsafe();
  }

 public:
  explicit StreamNode(simdjson::ondemand::value value) : value_(value) {}

  [[noreturn]] static void fail(std::string_view) { throw StreamGivesUp{}; }

  [[nodiscard]] bool is_null() const {
    if (!is(simdjson::ondemand::json_type::null)) return false;
    if (!take(value_.is_null())) fail("");  // the type is told by the first letter: "nul"
    return true;
  }
  [[nodiscard]] bool is_boolean() const { return is(simdjson::ondemand::json_type::boolean); }
  [[nodiscard]] bool is_text() const { return is(simdjson::ondemand::json_type::string); }
  [[nodiscard]] bool is_array() const { return is(simdjson::ondemand::json_type::array); }
  [[nodiscard]] bool is_integer() const {
    return is(simdjson::ondemand::json_type::number) && take(value_.is_integer());
  }

  template <typename Visit>
  void each_member(Visit&& visit) const {
    for (auto field : take(value_.get_object())) {
      const std::string_view key = take(field.unescaped_key());
      StreamNode node(take(field.value()));
      visit(key, node);
    }
  }
  template <typename Visit>
  void each_element(Visit&& visit) const {
    for (auto element : take(value_.get_array())) {
      StreamNode node(take(element));
      visit(node);
    }
  }
  [[nodiscard]] std::int64_t count() const {
    const std::uint64_t value = take(value_.get_uint64());
    if (value > INT64_MAX) fail("");
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] std::int64_t integer() const { return take(value_.get_int64()); }
  [[nodiscard]] double number() const { return take(value_.get_double()); }
  [[nodiscard]] bool boolean() const { return take(value_.get_bool()); }
  [[nodiscard]] std::string text() const { return std::string(take(value_.get_string())); }
  // Checks what nobody reads: simdjson looks at a value only when it is asked for it.
  void skip(int depth = 1) const {
    if (depth > kMaxDepth) fail("");
    switch (take(value_.type())) {
      case simdjson::ondemand::json_type::array:
        each_element([&](const StreamNode& element) { element.skip(depth + 1); });
        break;
      case simdjson::ondemand::json_type::object: {
        std::set<std::string_view> keys;
        each_member([&](std::string_view key, const StreamNode& member) {
          if (!keys.insert(key).second) fail("");
          member.skip(depth + 1);
        });
        break;
      }
      case simdjson::ondemand::json_type::number:
        static_cast<void>(number());
        break;
      case simdjson::ondemand::json_type::string:
        static_cast<void>(take(value_.get_string()));
        break;
      case simdjson::ondemand::json_type::boolean:
        static_cast<void>(boolean());
        break;
      case simdjson::ondemand::json_type::null:
        static_cast<void>(is_null());
        break;
    }
  }

 private:
  static constexpr int kMaxDepth = 32;  // the tree allows more; a member that deep is left to it

  [[nodiscard]] bool is(simdjson::ondemand::json_type type) const {
    return take(value_.type()) == type;
  }

  mutable simdjson::ondemand::value value_;  // reading moves the parser
};

}  // namespace inline_prof::read
