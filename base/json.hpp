// A JSON text as a tree that remembers where each value stands and in which order the keys came:
// messages need the first, a schedule the second.  No exceptions but JsonError and the allocator's,
// and nothing but the standard library: the injected library reads schedules with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::base {

struct JsonMember;

struct JsonValue {
  enum class Kind : std::uint8_t { kNull, kBoolean, kInteger, kReal, kString, kArray, kObject };

  [[nodiscard]] bool is(Kind other) const { return kind == other; }
  [[nodiscard]] bool is_number() const { return is(Kind::kInteger) || is(Kind::kReal); }
  // Null if this is no object, or has no such member.
  [[nodiscard]] const JsonMember* find(std::string_view key) const;

  Kind kind = Kind::kNull;
  bool boolean = false;
  bool is_negative = false;     // of an integer
  std::uint64_t magnitude = 0;  // of an integer
  double real = 0;              // of any number
  std::string text;
  std::vector<JsonMember> members;  // of an array too, with empty keys
  std::size_t offset = 0;           // of its first byte in the text
};

struct JsonMember {
  std::string key;
  std::size_t key_offset = 0;
  JsonValue value;
};

struct JsonRules {
  std::size_t max_depth = 64;
  std::size_t max_values = SIZE_MAX;
  bool has_comments = false;  // `//` and `/* */`
};

// The text is not JSON, or breaks a rule.
struct JsonError : std::runtime_error {
  enum class Kind : std::uint8_t {
    kSyntax,     // something else was `expected`
    kEndsEarly,  // the text ends inside a value
    kNumber,     // larger than any double
    kTwice,      // a key stands twice in its object
    kTooDeep,    // more than max_depth
    kTooMany,    // more than max_values
  };
  JsonError() : std::runtime_error("not valid JSON") {}

  Kind kind = Kind::kSyntax;
  std::size_t begin = 0;         // of the token at fault
  std::size_t end = 0;           // behind the byte at fault
  std::string_view expected;     // "a value", "':'"
  std::string pointer;           // the place of the value at fault (RFC 6901)
  std::string key;               // that stands twice
  std::size_t first_offset = 0;  // where it stands first
};

// Throws JsonError.
[[nodiscard]] JsonValue parse_json(std::string_view text, const JsonRules& rules = {});

// Returns a scalar as JSON text, and "an array" or "an object" for the others: for messages.
[[nodiscard]] std::string described(const JsonValue& value);

// Returns `text` as it stands between two slashes of a JSON pointer (RFC 6901).
[[nodiscard]] std::string pointer_token(std::string_view text);

}  // namespace inline_prof::base
