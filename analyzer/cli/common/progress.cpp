#include "cli/common/progress.hpp"

#include <cstdio>
#include <unistd.h>
#include <utility>

namespace inline_prof::cli {
namespace {

constexpr std::chrono::milliseconds kQuietStart{1000};
constexpr std::chrono::milliseconds kInterval{200};
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + kQuietStart) {}

Progress::~Progress() {
  if (has_written_) std::fputs(kEraseLine, stderr);
}

bool Progress::is_due() {
  if (!is_terminal_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + kInterval;
  return true;
}

void Progress::show(std::size_t done, std::size_t all) {
  if (!is_due()) return;
  has_written_ = true;
  std::fprintf(stderr, "%s%s: %zu of %zu", kEraseLine, what_.c_str(), done, all);
}

void Progress::say(std::string_view state) {
  if (!is_due()) return;
  has_written_ = true;
  std::fprintf(stderr, "%s%s: %.*s", kEraseLine, what_.c_str(), static_cast<int>(state.size()),
               state.data());
}

}  // namespace inline_prof::cli
