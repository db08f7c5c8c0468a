#include "read/json_tree.hpp"

#include <functional>
#include <set>
#include <string_view>

namespace inline_prof::read {
namespace {

using nlohmann::json;

// Follows the parser through the document: the parser itself keeps the last of two equal members
// and says nothing, and it has no limit on nesting.
class StructureCheck {
 public:
  explicit StructureCheck(const std::string& label) : label_(label) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (depth >= kMaxJsonDepth) {
          fail(fmt::format("nested deeper than {} levels", kMaxJsonDepth));
        }
        levels_.emplace_back().is_array = event == json::parse_event_t::array_start;
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        levels_.pop_back();
        count_element();
        break;
      case json::parse_event_t::key: {
        Level& level = levels_.back();
        level.key = parsed.get<std::string>();
        if (!level.keys.insert(level.key).second) fail("appears twice in its object");
        break;
      }
      case json::parse_event_t::value:
        count_element();
        break;
    }
    return true;
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw InputError(fmt::format("{}: {}: {}", label_, place(), what));
  }

 private:
  struct Level {
    bool is_array = false;
    std::size_t elements = 0;
    std::string key;
    std::set<std::string, std::less<>> keys;
  };

  void count_element() {
    if (!levels_.empty() && levels_.back().is_array) ++levels_.back().elements;
  }

  // The place of the value that comes next.
  [[nodiscard]] std::string place() const {
    std::string pointer;
    for (const Level& level : levels_) {
      pointer += '/';
      pointer += level.is_array ? fmt::format("{}", level.elements) : pointer_token(level.key);
    }
    return pointer.empty() ? "/" : pointer;
  }

  const std::string& label_;
  std::vector<Level> levels_;
};

std::string byte_found(char byte) {
  const bool is_printable = byte > ' ' && byte < 0x7f;
  return is_printable ? fmt::format("{}", byte)
                      : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(byte));
}

// The parser says what it expects behind some of its errors only.
std::string_view expected_by(std::string_view words) {
  if (words.find("invalid string") != std::string_view::npos) {
    return "a string of UTF-8 without control characters";
  }
  constexpr std::string_view mark = "; expected ";
  const std::size_t place = words.rfind(mark);
  if (place == std::string_view::npos) return "a value";
  std::string_view expected = words.substr(place + mark.size());
  expected = expected.substr(0, expected.find("; last read: "));  // bytes of the file, as they are
  return expected.starts_with("'['") ? "a value" : expected;      // "'[', '{', or a literal"
}

}  // namespace

std::string pointer_token(std::string_view text) {
  std::string token;
  for (const char c : text) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

json parse_json(std::string_view text, const std::string& label) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw InputError(fmt::format("{}: byte 1: empty, expected JSON", label));
  }
  StructureCheck check(label);
  try {
    return json::parse(text.begin(), text.end(), std::ref(check));
  } catch (const json::parse_error& error) {
    if (error.byte > text.size()) {
      throw InputError(
          fmt::format("{}: byte {}: not valid JSON: the file ends too early", label, error.byte));
    }
    throw InputError(fmt::format("{}: byte {}: not valid JSON: found {}, expected {}", label,
                                 error.byte, byte_found(text[error.byte - 1]),
                                 expected_by(error.what())));
  } catch (const json::out_of_range&) {
    check.fail("the number is too large for a 64-bit floating-point value");
  }
}

std::string TreeNode::found() const {
  if (value_->is_structured()) return fmt::format("an {}", value_->type_name());
  const std::string text = value_->dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 40 ? text : fmt::format("{}...", text.substr(0, 40));
}

}  // namespace inline_prof::read
