// Writes JSON text.  The caller keeps brackets in order; this adds commas, quotes and escapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  void new_line() { out_.push_back('\n'); }  // only for the reader's eyes

  template <typename Value>
  void member(std::string_view name, Value&& write) {
    key(name);
    write();
  }

  [[nodiscard]] const std::string& str() const { return out_; }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void quoted(std::string_view value);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace inline_prof::record
