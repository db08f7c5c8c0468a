#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace inline_prof::cli {

// A line on a terminal that says how far long work has come.  It disappears with this object, and
// appears only on a terminal and after a second of work.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Reads the clock at every 1024th call only, so it may be called for every row.
  void step(std::size_t done, std::size_t all) {
    if ((++calls_ & 1023U) == 0) show(done, all);
  }
  // For work without a count.
  void say(std::string_view state);

 private:
  void show(std::size_t done, std::size_t all);
  [[nodiscard]] bool is_due();

  std::string what_;
  bool is_terminal_;
  bool has_written_ = false;
  std::size_t calls_ = 0;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace inline_prof::cli
