#include "base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <vector>

namespace inline_prof::base {
namespace {

constexpr std::size_t kLongestQuote = 80;  // one line of a terminal

constexpr bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Returns the position of the parenthesis that opens the parameter list at the end, npos if there
// is none.
std::size_t parameter_list(std::string_view name) {
  if (name.empty() || name.back() != ')') return std::string_view::npos;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) {
    if (!is_continuation(c)) ++count;
  }
  return count;
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto is_tail = [](unsigned value) { return (value & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return is_tail(byte(1)) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return byte(1) >= low && byte(1) <= high && is_tail(byte(2)) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return byte(1) >= low && byte(1) <= high && is_tail(byte(2)) && is_tail(byte(3)) ? 4 : 0;
  }
  return 0;
}

std::string in_quotes(std::string_view text) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  std::size_t length = text.size();
  if (length > kLongestQuote) {
    length = kLongestQuote;
    // At most three steps back: text that is not UTF-8 is cut where it is.
    for (int step = 0; step < 3 && is_continuation(text[length]); ++step) {
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

std::size_t printable_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = utf8_length(text, 0);
  const bool is_c1 = length == 2 && first == 0xC2U && static_cast<unsigned char>(text[1]) < 0xA0U;
  return first < 0x20U || first == 0x7FU || is_c1 ? 0 : length;
}

std::string printable(std::string_view text) {
  // Nearly all names are plain.
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  const auto plain = std::find_if_not(text.begin(), text.end(), is_plain) - text.begin();
  std::string result(text.substr(0, static_cast<std::size_t>(plain)));
  text.remove_prefix(static_cast<std::size_t>(plain));
  while (!text.empty()) {
    const std::size_t taken = std::max<std::size_t>(utf8_length(text, 0), 1);
    if (printable_length(text) == 0) {
      result += '?';
    } else {
      result += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t width) {
  constexpr std::string_view kGap = "...";
  if (columns(text) <= width) return std::string(text);
  if (width <= kGap.size()) return std::string(kGap.substr(0, width));

  std::vector<std::size_t> starts;  // of the code points
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i])) starts.push_back(i);
  }
  const std::size_t kept = width - kGap.size();
  const std::size_t head = (kept + 1) / 2;
  std::string result(text.substr(0, starts[head]));
  result += kGap;
  if (kept > head) result += text.substr(starts[starts.size() - (kept - head)]);
  return result;
}

std::string readable_name(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  int status = 0;
  // The buffer comes from malloc: the ABI's __cxa_demangle wants it so.
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || demangled == nullptr) return std::string(name);
  const std::string_view readable = demangled.get();
  return std::string(readable.substr(0, parameter_list(readable)));
}

}  // namespace inline_prof::base
