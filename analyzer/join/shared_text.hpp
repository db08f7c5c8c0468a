#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

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
