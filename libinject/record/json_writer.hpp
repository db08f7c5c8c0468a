// Writes JSON text.  The caller keeps brackets in order; this adds commas, quotes and escapes.
#pragma once

#include <inline_prof/prof_format.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace inline_prof::record {

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  void key(std::string_view name);
  void text(std::string_view value);  // bytes that are not UTF-8 become U+FFFD
  void integer(std::int64_t value);
  void number(double value);  // 9 significant digits: a float comes back as it was
  void boolean(bool value);
  void null();
  void new_line() { out_.push_back('\n'); }  // for people who read the file

  // Writes `given` as a `Value`, one of the types of prof_format.hpp.
  template <typename Value, typename Given>
  void value(const Given& given) {
    if constexpr (format::kIsNullable<Value>) {
      if constexpr (format::kIsNullable<Given>) {
        if (!given) return null();
        value<typename Value::value_type>(*given);
      } else {
        value<typename Value::value_type>(given);
      }
    } else if constexpr (std::is_same_v<Value, std::string>) {
      text(given);
    } else if constexpr (format::kIsList<Value>) {
      begin_array();
      for (const auto& element : given)
        value<typename Value::value_type>(element);
      end_array();
    } else if constexpr (std::is_same_v<Value, bool>) {
      static_assert(std::is_same_v<Given, bool>);
      boolean(given);
    } else if constexpr (std::is_same_v<Value, std::int64_t>) {
      static_assert(std::is_integral_v<Given>);
      integer(static_cast<std::int64_t>(given));
    } else {
      static_assert(std::is_same_v<Value, double>);
      number(given);
    }
  }

  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  [[nodiscard]] const std::string& str() const { return out_; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void quoted(std::string_view value);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace inline_prof::record
