#include "schedule/json_tree.hpp"

#include "schedule/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace inline_prof::schedule {
namespace {

constexpr std::size_t kMaxDepth = 32;          // a schedule.json is four deep
constexpr std::size_t kMaxValues = 1'000'000;  // about 150 MB as a tree

// Feeds the parser and counts what it has taken: its event interface does not say where a value
// stands.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  std::size_t* taken_;
};

// The first byte at or after `offset` that is neither blank, comment, comma nor colon: where the
// next value or key starts.  The parser has already accepted what is skipped.
std::size_t next_token(std::string_view text, std::size_t offset) {
  while (offset < text.size()) {
    const std::string_view rest = text.substr(offset);
    if (rest.starts_with("//")) {
      offset += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      offset += end == std::string_view::npos ? rest.size() : end + 2;
    } else if (std::string_view(" \t\r\n,:").find(rest.front()) != std::string_view::npos) {
      ++offset;
    } else {
      break;
    }
  }
  return offset;
}

// Builds the tree.  The functions are the ones that nlohmann::json::sax_parse() calls.
class TreeBuilder {
 public:
  using json = nlohmann::json;

  TreeBuilder(std::string_view text, const std::string& file, const std::size_t& taken)
      : text_(text), file_(file), taken_(taken) {}

  bool null() { return add(JsonValue::Kind::kNull), true; }
  bool boolean(bool value) {
    add(JsonValue::Kind::kBoolean).boolean = value;
    return true;
  }
  bool number_integer(json::number_integer_t value) {
    JsonValue& added = add_number(JsonValue::Kind::kInteger);
    added.is_negative = value < 0;
    // Negated as unsigned: the most negative value has no positive counterpart.
    added.magnitude =
        value < 0 ? 0U - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    added.real = static_cast<double>(value);
    return true;
  }
  bool number_unsigned(json::number_unsigned_t value) {
    JsonValue& added = add_number(JsonValue::Kind::kInteger);
    added.magnitude = value;
    added.real = static_cast<double>(value);
    return true;
  }
  bool number_float(json::number_float_t value, const std::string& /*spelling*/) {
    add_number(JsonValue::Kind::kReal).real = value;
    return true;
  }
  bool string(std::string& value) {
    add(JsonValue::Kind::kString).text = std::move(value);
    return true;
  }
  bool binary(json::binary_t& /*value*/) { return false; }  // there is none in a text
  bool start_object(std::size_t /*size*/) { return open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t /*size*/) { return open(JsonValue::Kind::kArray); }
  bool end_array() { return close(); }
  bool end_object() {
    refuse_duplicates(*open_.back());
    return close();
  }
  bool key(std::string& value) {
    key_offset_ = next_token(text_, token_end_);
    token_end_ = taken_;
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& error) {
    const std::size_t start = next_token(text_, token_end_);
    if (dynamic_cast<const json::parse_error*>(&error) == nullptr) {
      fail(start, "a number too large, expected one that fits");
    }
    // `position` counts the bytes read, the one that was too many included.
    if (position > text_.size()) {
      fail(text_.size(), "the end of the text, expected the rest of a JSON value");
    }
    const std::size_t length = position > start ? position - start : 1;
    fail(start, in_quotes(text_.substr(start, length)) + ", expected valid JSON");
  }

  [[nodiscard]] JsonValue take() { return std::move(root_); }

 private:
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const {
    throw ScheduleError(file_, json_place(text_, offset), what);
  }

  JsonValue& add(JsonValue::Kind kind) {
    if (++value_count_ > kMaxValues) {
      fail(next_token(text_, token_end_), "one more value, expected at most " +
                                              std::to_string(kMaxValues) +
                                              ": larger than any schedule");
    }
    JsonValue* added = &root_;
    if (!open_.empty()) {
      open_.back()->members.push_back(
          {.key = std::move(key_), .key_offset = key_offset_, .value = {}});
      key_.clear();
      added = &open_.back()->members.back().value;
    }
    added->kind = kind;
    added->offset = next_token(text_, token_end_);
    token_end_ = taken_;
    return *added;
  }

  // A number ends where the next byte is not part of it, and the parser has taken that byte too.
  JsonValue& add_number(JsonValue::Kind kind) {
    JsonValue& added = add(kind);
    token_end_ = std::min(text_.find_first_not_of("+-.0123456789eE", added.offset), text_.size());
    return added;
  }

  // A pointer to an open value stays good: its parent gets no further member before it is closed.
  bool open(JsonValue::Kind kind) {
    JsonValue& added = add(kind);
    if (open_.size() == kMaxDepth) {
      fail(added.offset,
           "values nested more than " + std::to_string(kMaxDepth) + " deep, expected a schedule");
    }
    open_.push_back(&added);
    return true;
  }

  bool close() {
    open_.pop_back();
    token_end_ = taken_;
    return true;
  }

  void refuse_duplicates(const JsonValue& object) const {
    std::vector<const JsonMember*> sorted;
    sorted.reserve(object.members.size());
    for (const JsonMember& member : object.members) {
      sorted.push_back(&member);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->key < b->key; });
    const auto repeated = std::adjacent_find(sorted.begin(), sorted.end(),
                                             [](auto* a, auto* b) { return a->key == b->key; });
    if (repeated == sorted.end()) return;
    fail((*std::next(repeated))->key_offset,
         "the key " + in_quotes((*repeated)->key) + " again after " +
             json_place(text_, (*repeated)->key_offset) + ", expected it once");
  }

  std::string_view text_;
  const std::string& file_;
  const std::size_t& taken_;   // bytes the parser has read
  std::size_t token_end_ = 0;  // where the last value, key or bracket ended
  std::size_t value_count_ = 0;
  std::string key_;
  std::size_t key_offset_ = 0;
  JsonValue root_;
  std::vector<JsonValue*> open_;
};

}  // namespace

std::string json_place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(std::count(before.begin(), before.end(), '\n') + 1) +
         ", column " + std::to_string(before.size() - line_start + 1);
}

JsonValue parse_json(std::string_view text, const std::string& file) {
  // The parser would take a zero byte for the end and leave the rest unread.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw ScheduleError(file, json_place(text, zero), "a zero byte, expected text");
  }
  std::size_t taken = 0;
  TreeBuilder builder(text, file, taken);
  // Every complaint is thrown out of the builder, so the result is always true.
  static_cast<void>(nlohmann::json::sax_parse(
      CountingIterator(text.data(), &taken), CountingIterator(text.data() + text.size(), &taken),
      &builder, nlohmann::json::input_format_t::json, true, true));
  return builder.take();
}

}  // namespace inline_prof::schedule
