// The lines by which a GPU program answers: PASS, FAIL or FIGURE, then the text.
// scripts/gpu_check.sh takes them over as they are.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace inline_prof::gpu_test {

__attribute__((format(printf, 1, 2))) inline std::string text_of(const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

class Answers {
 public:
  // A program that hangs has said by then what it knew.
  Answers() { std::setvbuf(stdout, nullptr, _IOLBF, 0); }

  void figure(const std::string& text) { std::printf("FIGURE %s\n", text.c_str()); }

  void expect(bool is_so, const std::string& text) {
    std::printf("%s %s\n", is_so ? "PASS" : "FAIL", text.c_str());
    if (!is_so) exit_status_ = 1;
  }

  [[nodiscard]] int exit_status() const { return exit_status_; }

 private:
  int exit_status_ = 0;
};

}  // namespace inline_prof::gpu_test
