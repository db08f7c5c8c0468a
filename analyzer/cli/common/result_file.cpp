#include "cli/common/result_file.hpp"

#include "read/file_text.hpp"
#include "read/read_profile.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace inline_prof::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw OutputError(fmt::format("{}: {}", path, std::generic_category().message(error)));
}

std::vector<std::string>& arguments() {
  static std::vector<std::string> words;
  return words;
}

// True if `target`, which exists, is among the inputs.
bool is_an_input(const fs::path& target) {
  std::error_code error;
  std::size_t times = 0;
  for (const std::string& word : arguments()) {
    if (fs::is_directory(word, error)) {
      const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
      const bool is_profile = read::is_profile_name(target.filename().string());
      if (is_profile && fs::equivalent(word, folder, error)) return true;
    } else if (fs::equivalent(word, target, error)) {
      ++times;
    }
  }
  return times > 1;
}

void write_standard_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("standard output", errno);
}

// A file under a temporary name, removed at the end unless it was moved away.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target)
      : target_(target),
        path_(fmt::format("{}.{}.tmp", target, getpid())),
        number_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (number_ < 0) fail(target_, errno);
  }
  ~TemporaryFile() {
    if (number_ >= 0) close(number_);
    unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write_and_close(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = write(number_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(target_, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    const int number = number_;
    number_ = -1;
    if (close(number) != 0) fail(target_, errno);  // some file systems report a full disk only here
  }

  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  std::string target_;  // what messages call it
  std::string path_;
  int number_;
};

// Moves the file to a name that is free.  link() refuses an existing name, rename() would replace
// it. File systems without links leave a small gap between check and rename.
void move_to_free_name(const TemporaryFile& file, const std::string& path) {
  if (link(file.path(), path.c_str()) == 0) return;
  if (errno != EEXIST) {
    if (access(path.c_str(), F_OK) != 0 && std::rename(file.path(), path.c_str()) == 0) return;
    if (errno != EEXIST) fail(path, errno);
  }
  throw OutputError(fmt::format("{}: exists already; --force replaces it", path));
}

}  // namespace

void set_arguments(int count, const char* const* words) {
  arguments().clear();
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    // "--output=FILE" is FILE.
    const std::size_t value = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    arguments().emplace_back(value == std::string_view::npos ? word : word.substr(value + 1));
  }
}

void write_result(const std::string& path, std::string_view text, bool force) {
  if (path == "-") return write_standard_output(text);

  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  // A link stays a link: what it points to is replaced.
  const std::string target = fs::is_symlink(status) && fs::exists(path, error)
                                 ? fs::canonical(path, error).string()
                                 : path;
  if (fs::exists(status)) {
    if (!force) throw OutputError(fmt::format("{}: exists already; --force replaces it", path));
    if (!fs::is_regular_file(target, error))
      throw OutputError(fmt::format("{}: is not a regular file and is left alone", path));
    if (is_an_input(target))
      throw OutputError(fmt::format("{}: is one of the inputs and is left alone", path));
  }
  TemporaryFile file(target);
  file.write_and_close(path.ends_with(".gz") ? read::gzip(text) : text);
  if (!force) return move_to_free_name(file, target);
  if (std::rename(file.path(), target.c_str()) != 0) fail(target, errno);
}

}  // namespace inline_prof::cli
