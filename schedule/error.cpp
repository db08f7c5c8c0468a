#include "schedule/error.hpp"

#include <cstddef>

namespace inline_prof::schedule {
namespace {

constexpr std::size_t kLongestQuote = 80;  // one line of a terminal

constexpr bool continues_a_character(char byte) {  // in UTF-8
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  std::size_t length = text.size();
  if (length > kLongestQuote) {
    length = kLongestQuote;
    // At most three steps back: text that is not UTF-8 is cut where it is.
    for (int step = 0; step < 3 && continues_a_character(text[length]); ++step) {
      --length;
    }
  }

  std::string result = "\"";
  for (const char byte : text.substr(0, length)) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code == 0x7F) {
      result += "\\x";
      result += hex_digits[code >> 4U];
      result += hex_digits[code & 0xFU];
    } else {
      if (byte == '"' || byte == '\\') result += '\\';
      result += byte;
    }
  }
  result += length < text.size() ? "...\"" : "\"";
  return result;
}

}  // namespace inline_prof::schedule
