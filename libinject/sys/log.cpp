#include "sys/log.hpp"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

constinit std::atomic<LogLevel> wanted{LogLevel::kWarning};

constexpr char kLinePrefix[] = "inline_prof: ";
constexpr std::size_t kLinePrefixLength = sizeof kLinePrefix - 1;

}  // namespace

void set_log_level(LogLevel level) noexcept {
  wanted.store(level, std::memory_order_relaxed);
}

void say(LogLevel level, const char* format, ...) noexcept {
  if (level > wanted.load(std::memory_order_relaxed)) return;
  const int saved_errno = errno;
  char line[1024];
  __builtin_memcpy(line, kLinePrefix, kLinePrefixLength);
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line + kLinePrefixLength, sizeof line - kLinePrefixLength - 1,
                                    format, arguments);
  va_end(arguments);
  if (length >= 0) {
    std::size_t end = kLinePrefixLength + static_cast<std::size_t>(length);
    if (end > sizeof line - 2) end = sizeof line - 2;
    // What the application calls its labels and files may hold anything; a terminal obeys some of
    // it.
    for (std::size_t i = kLinePrefixLength; i < end; ++i) {
      if (static_cast<unsigned char>(line[i]) < ' ' || line[i] == '\x7f') line[i] = '?';
    }
    line[end] = '\n';
    const ssize_t written = write(STDERR_FILENO, line, end + 1);
    static_cast<void>(written);  // a closed stderr is the application's business
  }
  errno = saved_errno;
}

}  // namespace inline_prof::sys
