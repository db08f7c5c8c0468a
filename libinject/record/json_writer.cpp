#include "record/json_writer.hpp"

#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace inline_prof::record {
void JsonWriter::separate() {
  if (needs_comma_) out_.push_back(',');
  needs_comma_ = true;
}

void JsonWriter::open(char bracket) {
  separate();
  out_.push_back(bracket);
  needs_comma_ = false;
}

void JsonWriter::close(char bracket) {
  out_.push_back(bracket);
  needs_comma_ = true;
}

void JsonWriter::key(std::string_view name) {
  separate();
  quoted(name);
  out_.push_back(':');
  needs_comma_ = false;
}

void JsonWriter::text(std::string_view value) {
  separate();
  quoted(value);
}

void JsonWriter::quoted(std::string_view value) {
  out_.push_back('"');
  for (std::size_t i = 0; i < value.size();) {
    const auto byte = static_cast<unsigned char>(value[i]);
    if (byte == '"' || byte == '\\') {
      out_.push_back('\\');
      out_.push_back(value[i++]);
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte));
      out_.append(escape.data());
      ++i;
    } else if (const std::size_t length = base::utf8_length(value, i); length > 0) {
      out_.append(value, i, length);
      i += length;
    } else {
      out_.append("\xEF\xBF\xBD");
      ++i;
    }
  }
  out_.push_back('"');
}

void JsonWriter::integer(std::int64_t value) {
  separate();
  std::array<char, 24> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out_.append(digits.data(), result.ptr);
}

void JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();  // JSON cannot express it
  separate();
  // to_chars and not printf: the application may have set a locale with a decimal comma.
  std::array<char, 40> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                    std::chars_format::general, 9);
  out_.append(digits.data(), result.ptr);
}

void JsonWriter::boolean(bool value) {
  separate();
  out_.append(value ? "true" : "false");
}

void JsonWriter::null() {
  separate();
  out_.append("null");
}

}  // namespace inline_prof::record
