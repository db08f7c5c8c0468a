#include "record/output_file.hpp"

#include "sys/config_error.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace inline_prof::record {
namespace {

// After this many files of the same name something else is wrong.
constexpr int kMostNumbers = 10000;

std::string reason(const std::string& path, const char* what, int error) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's texts of known errors are constant
  return path + ": " + what + ": " + std::strerror(error);
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string absolute(std::string path) {
  if (!path.empty() && path.front() == '/') return path;
  char* here = getcwd(nullptr, 0);
  if (here == nullptr) return path;
  std::string whole(here);
  std::free(here);
  return whole + "/" + path;
}

// "a/b.prof.json" -> "a/b.3.prof.json", "a/b.json" -> "a/b.3.json", "a/b" -> "a/b.3"
std::string numbered(const std::string& path, int number) {
  const auto name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  std::size_t stem = path.size();
  for (const std::string_view ending : {".prof.json", ".json"}) {
    if (path.size() - name > ending.size() && path.ends_with(ending)) {
      stem = path.size() - ending.size();
      break;
    }
  }
  return path.substr(0, stem) + "." + std::to_string(number) + path.substr(stem);
}

std::string expand(const std::string& pattern, const std::string& host_name, int process_id,
                   std::optional<std::int64_t> rank) {
  const auto refuse = [&](const std::string& what) {
    throw sys::ConfigError("INLINE_PROF_OUT=" + pattern + ": " + what +
                           "; known are %h, %p, %r, %q{VAR} and %%");
  };
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path.push_back(pattern[i]);
      continue;
    }
    const char word = i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (word == 'h') {
      path += host_name;
    } else if (word == 'p') {
      path += std::to_string(process_id);
    } else if (word == 'r') {
      path += std::to_string(rank.value_or(0));
    } else if (word == '%') {
      path.push_back('%');
    } else if (word == 'q') {
      const auto end = pattern.find('}', i);
      if (i + 1 >= pattern.size() || pattern[i + 1] != '{' || end == std::string::npos) {
        refuse("%q is not followed by {VAR}");
      }
      const std::string name = pattern.substr(i + 2, end - i - 2);
      const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
      if (value == nullptr) refuse("the variable " + name + " is not set");
      path += value;
      i = end;
    } else {
      refuse(word == '\0' ? "a % at the end" : std::string("unknown %") + word);
    }
  }
  if (path.empty() || path.back() == '/') {
    throw sys::ConfigError("INLINE_PROF_OUT=" + pattern +
                           ": names a directory; a file is expected, INLINE_PROF_DIR sets the "
                           "directory");
  }
  return path;
}

// Makes every missing folder of `directory`.
bool make_directories(const std::string& directory) {
  for (std::size_t end = 1; end <= directory.size(); ++end) {
    if (end != directory.size() && directory[end] != '/') continue;
    const std::string part = directory.substr(0, end);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) return false;
  }
  return true;
}

// The kernel sends SIGXFSZ to a thread that writes past the application's RLIMIT_FSIZE, and the
// application would end.  Held back and taken away again, it is no more than an error of write().
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() noexcept {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutFileSizeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

// Creates a file beside `wanted` and puts its name into `name`; -1 and errno where it cannot.  The
// process id alone is no name of our own: two containers on one disk may both be process 17.
int create_temporary(const std::string& wanted, std::string& name) {
  const std::string stem = wanted + ".tmp." + std::to_string(getpid());
  for (int number = 0; number < kMostNumbers; ++number) {
    name = number == 0 ? stem : stem + "." + std::to_string(number);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

// Writes `text` and closes `file`.  Returns 0 or an errno.
int write_all(int file, const std::string& text) {
  const WithoutFileSizeSignal no_signal;
  std::size_t done = 0;
  int error = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error = written < 0 ? errno : ENOSPC;
      break;
    }
    done += static_cast<std::size_t>(written);
  }
  // Some file systems say only at the end that there was no room.
  if (error == 0 && fsync(file) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

std::string output_path(const OutputNaming& naming, const std::string& host_name, int process_id) {
  if (!naming.output_template.empty()) {
    return absolute(expand(naming.output_template, host_name, process_id, naming.rank));
  }
  if (naming.rank) {
    return absolute(naming.directory + "/" + host_name + ".rank" + std::to_string(*naming.rank) +
                    ".prof.json");
  }
  if (naming.directory_is_set) {
    return absolute(naming.directory + "/" + host_name + ".prof.json");
  }
  return absolute("prof.json");
}

std::string prepare_directory(const std::string& path) {
  const std::string directory = directory_of(path);
  if (!make_directories(directory)) return reason(directory, "cannot be made", errno);
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0) return reason(directory, "cannot be read", errno);
  if (!S_ISDIR(facts.st_mode)) return reason(directory, "cannot hold files", ENOTDIR);
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return reason(directory, "no file can be created there", errno);
  }
  return "";
}

std::string OutputFile::write(const std::string& text) {
  std::string temporary;
  const int opened = create_temporary(wanted_, temporary);
  if (opened < 0) return reason(temporary, "cannot be created", errno);
  if (const int error = write_all(opened, text); error != 0) {
    unlink(temporary.c_str());
    return reason(temporary, "cannot be written", error);
  }

  if (!taken_.empty()) {
    if (rename(temporary.c_str(), taken_.c_str()) == 0) return "";
    const int error = errno;
    unlink(temporary.c_str());
    return reason(taken_, "cannot be replaced", error);
  }
  // link() fails where a name is taken, so that two processes never share one.
  for (int number = 0; number < kMostNumbers; ++number) {
    const std::string name = number == 0 ? wanted_ : numbered(wanted_, number);
    if (link(temporary.c_str(), name.c_str()) == 0) {
      unlink(temporary.c_str());
      taken_ = name;
      return "";
    }
    if (errno == EEXIST) continue;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) {
      const int error = errno;
      unlink(temporary.c_str());
      return reason(name, "cannot be created", error);
    }
    // A file system without hard links: take the name with O_EXCL, then move over it.
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file >= 0) close(file);
    if (file >= 0 && rename(temporary.c_str(), name.c_str()) == 0) {
      taken_ = name;
      return "";
    }
    const int error = errno;
    unlink(temporary.c_str());
    return reason(name, "cannot be created", error);
  }
  unlink(temporary.c_str());
  return wanted_ + ": " + std::to_string(kMostNumbers) + " files of this name stand there already";
}

}  // namespace inline_prof::record
