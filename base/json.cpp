#include "base/json.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace inline_prof::base {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto tail = [](std::uint32_t bits) { return static_cast<char>(0x80U | (bits & 0x3FU)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xC0U | code >> 6U), tail(code)};
  } else if (code < 0x10000) {
    text += {static_cast<char>(0xE0U | code >> 12U), tail(code >> 6U), tail(code)};
  } else {
    text +=
        {static_cast<char>(0xF0U | code >> 18U), tail(code >> 12U), tail(code >> 6U), tail(code)};
  }
}

class Parser {
 public:
  Parser(std::string_view text, const JsonRules& rules) : text_(text), rules_(rules) {}

  JsonValue parse() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark
    JsonValue root = value();
    skip_blanks();
    if (at_ < text_.size()) refuse_token("end of input");
    return root;
  }

 private:
  using Kind = JsonError::Kind;

  struct Level {
    bool is_object = false;
    std::size_t first = 0;  // of its members, in members_
    std::string key;        // of the member that is being read
  };

  [[noreturn]] void fail(Kind kind, std::size_t begin, std::size_t end) const {
    throw error(kind, begin, end);
  }
  [[nodiscard]] JsonError error(Kind kind, std::size_t begin, std::size_t end) const {
    JsonError error;
    error.kind = end > text_.size() ? Kind::kEndsEarly : kind;
    error.begin = begin;
    error.end = end;
    error.expected = expected_;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const std::size_t behind = i + 1 < levels_.size() ? levels_[i + 1].first : members_.size();
      error.pointer += '/';
      error.pointer += levels_[i].is_object ? pointer_token(levels_[i].key)
                                            : std::to_string(behind - levels_[i].first);
    }
    return error;
  }

  // The next token, a scalar or a bracket, is not what is `expected`.
  [[noreturn]] void refuse_token(std::string_view expected) {
    expected_ = expected;
    const std::size_t begin = at_;
    if (std::string_view("[]{},:").find(peek()) != std::string_view::npos) {
      ++at_;
    } else {
      JsonValue ignored;
      read_scalar(ignored);
    }
    fail(Kind::kSyntax, begin, at_);
  }

  // 0 at the end of the text; as a byte of the text it is no token, either.
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (kBlanks.find(rest.front()) != std::string_view::npos) {
        ++at_;
      } else if (rules_.has_comments && rest.starts_with("//")) {
        at_ += std::min(rest.find('\n'), rest.size());
      } else if (rules_.has_comments && rest.starts_with("/*")) {
        const std::size_t end = rest.find("*/", 2);
        at_ = end == std::string_view::npos ? text_.size() : at_ + end + 2;
      } else {
        return;
      }
    }
  }

  JsonValue value() {
    skip_blanks();
    if (++value_count_ > rules_.max_values) fail(Kind::kTooMany, at_, at_);
    JsonValue value;
    value.offset = at_;
    expected_ = "a value";
    if (peek() == '{' || peek() == '[') {
      read_members(value);
    } else {
      read_scalar(value);
    }
    return value;
  }

  void read_members(JsonValue& value) {
    const bool is_object = peek() == '{';
    const char closing = is_object ? '}' : ']';
    if (levels_.size() == rules_.max_depth) fail(Kind::kTooDeep, at_, at_ + 1);
    value.kind = is_object ? JsonValue::Kind::kObject : JsonValue::Kind::kArray;
    const std::size_t first = members_.size();
    levels_.push_back({.is_object = is_object, .first = first, .key = {}});
    ++at_;
    skip_blanks();
    bool is_open = peek() != closing;
    while (is_open) {
      JsonMember member;
      if (is_object) read_key(member);
      member.value = this->value();
      members_.push_back(std::move(member));
      skip_blanks();
      if (peek() != ',' && peek() != closing) refuse_token(is_object ? "'}'" : "']'");
      is_open = peek() == ',';
      if (is_open) ++at_;
    }
    ++at_;
    const auto own = members_.begin() + static_cast<std::ptrdiff_t>(first);
    value.members.assign(std::make_move_iterator(own), std::make_move_iterator(members_.end()));
    members_.erase(own, members_.end());
    if (is_object) refuse_duplicates(value.members);
    levels_.pop_back();
  }

  void read_key(JsonMember& member) {
    skip_blanks();
    member.key_offset = at_;
    if (peek() != '"') refuse_token("string literal");
    member.key = string();
    levels_.back().key = member.key;
    skip_blanks();
    if (peek() != ':') refuse_token("':'");
    ++at_;
  }

  void refuse_duplicates(const std::vector<JsonMember>& members) {
    sorted_.clear();
    for (const JsonMember& member : members)
      sorted_.push_back(&member);
    std::ranges::stable_sort(sorted_, [](const auto* a, const auto* b) { return a->key < b->key; });
    const auto repeated = std::adjacent_find(sorted_.begin(), sorted_.end(),
                                             [](auto* a, auto* b) { return a->key == b->key; });
    if (repeated == sorted_.end()) return;
    const JsonMember& second = **std::next(repeated);
    levels_.back().key = second.key;
    JsonError twice = error(Kind::kTwice, second.key_offset, second.key_offset + 1);
    twice.key = second.key;
    twice.first_offset = (*repeated)->key_offset;
    throw twice;
  }

  void read_scalar(JsonValue& value) {
    switch (peek()) {
      case '"':
        value.kind = JsonValue::Kind::kString;
        value.text = string();
        break;
      case 't':
      case 'f':
        value.kind = JsonValue::Kind::kBoolean;
        value.boolean = peek() == 't';
        skip_word(value.boolean ? "true" : "false");
        break;
      case 'n':
        skip_word("null");
        break;
      default:
        read_number(value);
    }
  }

  void skip_word(std::string_view word) {
    const std::size_t begin = at_;
    for (const char c : word) {
      if (peek() != c) fail(Kind::kSyntax, begin, at_ + 1);
      ++at_;
    }
  }

  void skip_digits(std::size_t begin) {
    if (!is_digit(peek())) fail(Kind::kSyntax, begin, at_ + 1);
    while (is_digit(peek()))
      ++at_;
  }

  void read_number(JsonValue& value) {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    const std::size_t digits = at_;
    if (peek() == '0') {
      ++at_;
    } else {
      skip_digits(begin);
    }
    const std::size_t end_of_integer = at_;
    if (peek() == '.') {
      ++at_;
      skip_digits(begin);
    }
    bool is_tiny = text_[digits] == '0';
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      is_tiny = peek() == '-';
      if (peek() == '-' || peek() == '+') ++at_;
      skip_digits(begin);
    }
    const char* const end = text_.data() + at_;
    value.is_negative = digits > begin;
    value.kind = JsonValue::Kind::kReal;
    const auto real = std::from_chars(text_.data() + begin, end, value.real);
    if (real.ec != std::errc{}) {
      if (!is_tiny) fail(Kind::kNumber, begin, at_);
      value.real = 0;
    }
    if (at_ != end_of_integer) return;
    const auto integer = std::from_chars(text_.data() + digits, end, value.magnitude);
    const std::uint64_t largest =
        value.is_negative ? std::uint64_t{1} << 63U : std::numeric_limits<std::uint64_t>::max();
    if (integer.ec == std::errc{} && value.magnitude <= largest)
      value.kind = JsonValue::Kind::kInteger;
  }

  std::string string() {
    const std::size_t begin = at_++;
    std::string result;
    while (peek() != '"') {
      if (peek() == '\\') {
        read_escape(result, begin);
        continue;
      }
      const bool is_control = static_cast<unsigned char>(peek()) < 0x20;
      const std::size_t length = is_control ? 0 : utf8_length(text_, at_);
      if (length == 0) fail_string(begin);
      result.append(text_, at_, length);
      at_ += length;
    }
    ++at_;
    return result;
  }

  [[noreturn]] void fail_string(std::size_t begin) {
    expected_ = "a string of UTF-8 without control characters";
    fail(Kind::kSyntax, begin, at_ + 1);
  }

  void read_escape(std::string& result, std::size_t begin) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    ++at_;
    if (const std::size_t which = letters.find(peek()); which != std::string_view::npos) {
      result += meanings[which];
      ++at_;
      return;
    }
    std::uint32_t code = read_code(begin);
    if (code >= 0xDC00 && code < 0xE000) fail_string(begin);
    if (code >= 0xD800 && code < 0xDC00) {  // the first half of a pair
      if (peek() != '\\') fail_string(begin);
      ++at_;
      const std::uint32_t low = read_code(begin);
      if (low < 0xDC00 || low >= 0xE000) fail_string(begin);
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_utf8(result, code);
  }

  // Reads `u` and four hexadecimal digits.
  std::uint32_t read_code(std::size_t begin) {
    if (peek() != 'u') fail_string(begin);
    ++at_;
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      std::uint32_t digit = 0;
      if (std::from_chars(&c, &c + 1, digit, 16).ec != std::errc{}) fail_string(begin);
      code = code * 16 + digit;
    }
    return code;
  }

  std::string_view text_;
  const JsonRules& rules_;
  std::size_t at_ = 0;
  std::size_t value_count_ = 0;
  std::string_view expected_;
  std::vector<Level> levels_;
  std::vector<JsonMember> members_;  // of all open values: the finished ones have exact room
  std::vector<const JsonMember*> sorted_;
};

}  // namespace

const JsonMember* JsonValue::find(std::string_view key) const {
  if (kind != Kind::kObject) return nullptr;
  const auto found =
      std::ranges::find_if(members, [&](const JsonMember& member) { return member.key == key; });
  return found == members.end() ? nullptr : &*found;
}

JsonValue parse_json(std::string_view text, const JsonRules& rules) {
  return Parser(text, rules).parse();
}

std::string described(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBoolean:
      return value.boolean ? "true" : "false";
    case JsonValue::Kind::kInteger:
      return (value.is_negative ? "-" : "") + std::to_string(value.magnitude);
    case JsonValue::Kind::kReal: {
      // The shortest text that reads back as the same number, in every locale.
      std::array<char, 32> digits{};
      const bool is_short = std::abs(value.real) >= 1e-4 && std::abs(value.real) < 1e16;
      const auto end =
          std::to_chars(digits.data(), digits.data() + digits.size(), value.real,
                        is_short ? std::chars_format::fixed : std::chars_format::general);
      std::string text(digits.data(), end.ptr);
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      return text;
    }
    case JsonValue::Kind::kString:
      return in_quotes(value.text);
    case JsonValue::Kind::kArray:
      return "an array";
    case JsonValue::Kind::kObject:
      break;
  }
  return "an object";
}

std::string pointer_token(std::string_view text) {
  std::string token;
  for (const char c : text) {
    if (c == '~' || c == '/') {
      token += c == '~' ? "~0" : "~1";
    } else {
      token += c;
    }
  }
  return token;
}

}  // namespace inline_prof::base
