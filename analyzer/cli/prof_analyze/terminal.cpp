#include "cli/prof_analyze/terminal.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace inline_prof::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::size_t columns_wanted() {
  const std::string_view text = variable("COLUMNS");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc{} && end == text.data() + text.size() ? columns : 0;
}

std::size_t columns_there() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace

std::size_t terminal_width() {
  std::size_t width = columns_wanted();
  if (width == 0) width = columns_there();
  if (width == 0) return 80;
  return std::clamp<std::size_t>(width, 40, 1000);
}

bool wants_colour(const std::string& output) {
  return output == "-" && isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
         variable("TERM") != "dumb";
}

}  // namespace inline_prof::cli
