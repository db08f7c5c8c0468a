#include "read/file_text.hpp"

#include "read/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace inline_prof::read {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw InputError(fmt::format("{}: {}", file.string(), std::generic_category().message(error)));
}

[[noreturn]] void fail_too_long(const std::filesystem::path& file, std::size_t limit) {
  throw InputError(fmt::format("{}: too long, expected at most {} bytes", file.string(), limit));
}

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& file)
      : value_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (value_ < 0) fail(file, errno);
  }
  ~Descriptor() { ::close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

}  // namespace

std::string read_text(const std::filesystem::path& file, std::size_t limit) {
  const Descriptor descriptor(file);
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) fail(file, errno);
  if (S_ISDIR(status.st_mode)) {
    throw InputError(fmt::format("{}: is a directory, expected a file", file.string()));
  }

  // A device gives bytes without end, or none.
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    throw InputError(fmt::format("{}: is a device, expected a file", file.string()));
  }

  // The length of a pipe is not known: it starts with one pipe buffer and doubles.  A regular file
  // gets one byte more than it has, so that its end is seen without growing the buffer.
  std::size_t room = 65536;
  if (S_ISREG(status.st_mode)) {
    const auto length = static_cast<std::size_t>(status.st_size);
    if (length > limit) fail_too_long(file, limit);
    room = length + 1;
  }

  std::string text;
  std::size_t filled = 0;
  while (true) {
    if (text.size() < room) {
      text.reserve(room + kPaddingBytes);
      text.resize(room);
    }
    const ssize_t got = ::read(descriptor.get(), text.data() + filled, room - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(file, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > limit) fail_too_long(file, limit);
    if (filled == room) room = std::min(room * 2, limit + 1);
  }
  text.resize(filled);
  text.reserve(filled + kPaddingBytes);
  return text;
}

}  // namespace inline_prof::read
