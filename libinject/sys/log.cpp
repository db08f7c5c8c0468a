#include "sys/log.hpp"

#include "base/text.hpp"
#include "sys/large_stack.hpp"
#include "sys/quiet_thread.hpp"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

constinit std::atomic<LogLevel> wanted{LogLevel::kWarning};

// Two counters, so that warnings never use up the lines of the error that explains them.
constinit std::atomic<int> errors_said{0};
constinit std::atomic<int> others_said{0};

// The file that stderr was when the library was loaded. Written before the application has threads.
struct StderrFile {
  bool is_known = false;
  bool is_open = false;
  dev_t device = 0;
  ino_t inode = 0;
};
constinit StderrFile first_stderr;

constexpr std::string_view kLinePrefix = "inline_prof: ";
constexpr std::size_t kLongestLine = 1024;

StderrFile stderr_now() noexcept {
  struct stat facts {};
  if (fstat(STDERR_FILENO, &facts) != 0) return {.is_known = true};
  return {.is_known = true, .is_open = true, .device = facts.st_dev, .inode = facts.st_ino};
}

bool is_still_stderr() noexcept {
  if (!first_stderr.is_known) return true;
  if (!first_stderr.is_open) return false;
  const StderrFile now = stderr_now();
  return now.is_open && now.device == first_stderr.device && now.inode == first_stderr.inode;
}

// Returns false if the write would block, as on a full pipe without a reader.
bool has_room() noexcept {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

[[gnu::format(printf, 1, 0)]] void write_line(const char* format, va_list& arguments) noexcept {
  char line[kLongestLine];
  __builtin_memcpy(line, kLinePrefix.data(), kLinePrefix.size());
  const std::size_t room = sizeof line - kLinePrefix.size() - 1;
  const int wanted_length = std::vsnprintf(line + kLinePrefix.size(), room, format, arguments);
  if (wanted_length < 0) return;
  std::size_t length = static_cast<std::size_t>(wanted_length);
  if (length >= room) length = room - 1;
  make_printable({line + kLinePrefix.size(), length});
  length += kLinePrefix.size();
  line[length++] = '\n';
  const HeldSignal held_pipe(SIGPIPE);
  const HeldSignal held_size(SIGXFSZ);  // stderr may be a file
  if (!is_still_stderr() || !has_room()) return;
  const ssize_t written = write(STDERR_FILENO, line, length);
  static_cast<void>(written);  // an error, such as a full disk, is not ours to report
}

// The line takes 3 KiB of stack.
[[gnu::format(printf, 1, 0)]] void say_anyway(const char* format, va_list& arguments) noexcept {
  const int saved_errno = errno;
  on_large_stack([&] { write_line(format, arguments); });
  errno = saved_errno;
}

}  // namespace

void set_log_level(LogLevel level) noexcept {
  wanted.store(level, std::memory_order_relaxed);
}

void note_stderr() noexcept {
  const int saved_errno = errno;
  first_stderr = stderr_now();
  errno = saved_errno;
}

const char* error_text(int error) noexcept {
  return std::strerror(error);  // NOLINT(concurrency-mt-unsafe): see the header
}

void make_printable(std::span<char> text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = base::printable_length({text.data() + i, text.size() - i});
    if (length == 0) text[i] = '?';
    i += length == 0 ? 1 : length;
  }
}

void say(LogLevel level, const char* format, ...) noexcept {
  if (level > wanted.load(std::memory_order_relaxed)) return;
  auto& said = level == LogLevel::kError ? errors_said : others_said;
  const int before = said.fetch_add(1, std::memory_order_relaxed);
  if (before >= kMostLines) {
    // Stored again, so that the counter does not overflow.
    said.store(kMostLines + 1, std::memory_order_relaxed);
    if (before > kMostLines) return;
  }
  static_assert(kMostLines == 64);
  va_list arguments;
  va_start(arguments, format);
  if (before == kMostLines) format = "64 lines have been written: further ones are left out";
  say_anyway(format, arguments);
  va_end(arguments);
}

void say_uncounted(const char* format, ...) noexcept {
  if (LogLevel::kWarning > wanted.load(std::memory_order_relaxed)) return;
  va_list arguments;
  va_start(arguments, format);
  say_anyway(format, arguments);
  va_end(arguments);
}

}  // namespace inline_prof::sys
