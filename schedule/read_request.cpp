#include "schedule/read_request.hpp"

#include "schedule/error.hpp"
#include "schedule/schedule_json.hpp"
#include "schedule/text_formats.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inline_prof::schedule {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ > STDERR_FILENO) close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

std::string error_text(int error) {
  return std::generic_category().message(error);
}

// O_NONBLOCK: opening a pipe without a writer, or some devices, would wait otherwise.
int open_for_reading(const std::string& path, Accept accept) {
  if (accept == Accept::kAnyStream) {
    return path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  }
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "a file of an unknown kind";
}

[[noreturn]] void fail_too_large(const std::string& path, const std::string& size,
                                 std::size_t max_bytes) {
  throw ScheduleError(path, "size",
                      size + " bytes, expected at most " + std::to_string(max_bytes) +
                          ": larger than any file of this kind");
}

}  // namespace

std::string read_text(const std::string& path, Accept accept, std::size_t max_bytes) {
  if (path.find('\0') != std::string::npos) {
    throw ScheduleError(in_quotes(path), "open", "a zero byte in the name, expected a path");
  }
  const FileDescriptor file(open_for_reading(path, accept));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    throw ScheduleError(path, "open", error_text(errno) + ", expected a readable file");
  }
  const bool is_accepted =
      S_ISREG(status.st_mode) || (accept == Accept::kAnyStream && !S_ISDIR(status.st_mode));
  if (!is_accepted) {
    throw ScheduleError(path, "type",
                        std::string(kind_of(status.st_mode)) + ", expected a regular file");
  }
  if (S_ISREG(status.st_mode) && std::cmp_greater(status.st_size, max_bytes)) {
    fail_too_large(path, std::to_string(status.st_size), max_bytes);
  }

  std::string text;
  std::vector<char> block(65536);  // not on the stack: the reader may be a thread with a small one
  for (;;) {
    const ssize_t count = read(file.get(), block.data(), block.size());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      throw ScheduleError(path, "read", error_text(errno) + ", expected text");
    }
    // The size may be wrong: a file can grow, and a stream has none.
    if (static_cast<std::size_t>(count) > max_bytes - text.size()) {
      fail_too_large(path, "more than " + std::to_string(max_bytes), max_bytes);
    }
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

Request parse_request(std::string_view text, const std::string& file) {
  if (text.empty()) throw ScheduleError(file, "size", "0 bytes, expected a schedule");
  if (file.ends_with(".json")) return parse_schedule_json(text, file);
  if (file.ends_with(".schedule")) return parse_prof_schedule(text, file);
  if (file.ends_with(".events")) return parse_prof_events(text, file);

  constexpr std::string_view skipped = "\xEF\xBB\xBF \t\r\n";
  const std::size_t first = text.find_first_not_of(skipped);
  const std::string_view start = text.substr(std::min(first, text.size()));
  if (start.starts_with('{') || start.starts_with("//") || start.starts_with("/*")) {
    return parse_schedule_json(text, file);
  }
  if (starts_with_an_integer_line(text)) return parse_prof_schedule(text, file);
  return parse_prof_events(text, file);
}

Request read_request(const std::string& path, Accept accept) {
  return parse_request(read_text(path, accept), path);
}

FoundRequest find_request(const std::string& named, const std::string& profiling_directory) {
  if (!named.empty()) return {.path = named, .request = read_request(named)};
  for (const std::string& directory : {profiling_directory, std::string(".")}) {
    if (directory.empty()) continue;
    for (const char* name : {"schedule.json", "prof.schedule", "prof.events"}) {
      const std::string path = directory == "." ? name : directory + "/" + name;
      // Only a missing file leads to the next one.
      if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) continue;
      return {.path = path, .request = read_request(path)};
    }
  }
  return {};
}

}  // namespace inline_prof::schedule
