#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>

namespace inline_prof::join {

// A text that many rows have in common: a thousand ranks name the same layers.  It takes one
// pointer; every different text stays in memory until the program ends.
class SharedText {
 public:
  SharedText() : SharedText(std::string_view()) {}
  SharedText(std::string_view text);  // NOLINT(google-explicit-constructor): it is a text
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  SharedText(const char* text) : SharedText(std::string_view(text)) {}

  operator const std::string&() const { return *text_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const std::string& str() const { return *text_; }
  [[nodiscard]] bool empty() const { return text_->empty(); }

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.text_ == b.text_; }
  friend bool operator==(const SharedText& a, std::string_view b) { return *a.text_ == b; }
  friend bool operator==(const SharedText& a, const char* b) { return *a.text_ == b; }

 private:
  const std::string* text_;
};

// Hashes tuples of such texts and numbers; the place of a text stands for it.
struct SharedHash {
  std::size_t operator()(const SharedText& text) const noexcept {
    return std::hash<const void*>{}(&text.str());
  }
  std::size_t operator()(std::integral auto number) const noexcept {
    return static_cast<std::size_t>(number);
  }
  template <typename... Parts>
  std::size_t operator()(const std::tuple<Parts...>& parts) const noexcept {
    constexpr std::size_t odd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    std::size_t all = 0;
    std::apply([&](const auto&... part) { ((all = (all ^ (*this)(part)) * odd), ...); }, parts);
    return all ^ (all >> 32);
  }
};

template <typename Json>
void to_json(Json& json, const SharedText& text) {
  json = text.str();
}

}  // namespace inline_prof::join

template <>
struct fmt::formatter<inline_prof::join::SharedText> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const inline_prof::join::SharedText& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
