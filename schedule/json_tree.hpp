// A JSON text as a tree that remembers where each value stands and in which order the keys came:
// messages need the first, a schedule the second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::schedule {

struct JsonMember;

struct JsonValue {
  enum class Kind : std::uint8_t { kNull, kBoolean, kInteger, kReal, kString, kArray, kObject };

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

// `line 4, column 12`, both counted from 1, columns in bytes.
[[nodiscard]] std::string json_place(std::string_view text, std::size_t offset);

// Takes JSON with `//` and `/* */` comments.  Throws ScheduleError for anything else, for a key
// that stands twice in an object, and for nesting deeper than any schedule has.
[[nodiscard]] JsonValue parse_json(std::string_view text, const std::string& file);

}  // namespace inline_prof::schedule
