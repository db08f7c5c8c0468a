#include "record/output_file.hpp"

#include "sys/config.hpp"
#include "sys/log.hpp"
#include "sys/quiet_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace inline_prof::record {
namespace {

constexpr const char* kNoRegularFile =
    ": is no regular file; expected the name of one, or one that nothing has yet";

// With this many files of the same name something else is wrong.
constexpr int kMostNumbers = 10000;

std::string reason(const std::string& path, const char* what, int error) {
  return path + ": " + what + ": " + sys::error_text(error);
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string absolute(std::string path) {
  if (!path.empty() && path.front() == '/') return path;
  std::string here(PATH_MAX, '\0');
  if (getcwd(here.data(), here.size()) == nullptr) return path;
  here.resize(here.find('\0'));
  return here + "/" + path;
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

// Makes every missing folder of `directory`.
bool make_directories(const std::string& directory) {
  for (std::size_t end = 1; end <= directory.size(); ++end) {
    if (end != directory.size() && directory[end] != '/') continue;
    const std::string part = directory.substr(0, end);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) return false;
  }
  return true;
}

constexpr std::string_view kTemporary = ".tmp.";

// Returns the names in `directory` that begin with `stem`. Uses the system call, because a program
// may have a function of its own named readdir.
std::vector<std::string> names_with(const std::string& directory, std::string_view stem) {
  std::vector<std::string> names;
  const int folder = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return names;
  std::vector<char> block(32768);
  while (true) {
    const long size = syscall(SYS_getdents64, folder, block.data(), block.size(), 0, 0);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      // struct linux_dirent64 (getdents64(2)): inode, offset, the entry's length, its kind, its
      // name
      constexpr std::size_t length_at = 16;
      constexpr std::size_t name_at = 19;
      const char* const entry = block.data() + at;
      std::uint16_t length = 0;
      std::memcpy(&length, entry + length_at, sizeof length);
      const std::string_view name = entry + name_at;
      // The rest of the name is a process id, with a number if that was not enough.
      if (name.starts_with(stem) && name.size() > stem.size() &&
          name.find_first_not_of("0123456789.", stem.size()) == std::string_view::npos)
        names.emplace_back(name);
      at += length;
    }
  }
  close(folder);
  return names;
}

// Removes the temporary files of processes that are gone. A file that is still being written is
// locked.
void remove_dead_temporaries(const std::string& wanted) {
  const std::string directory = directory_of(wanted);
  const std::string stem = wanted.substr(wanted.rfind('/') + 1) + std::string(kTemporary);
  for (const std::string& name : names_with(directory, stem)) {
    std::string path = directory;
    path.append("/").append(name);
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0) continue;
    struct stat facts {};
    struct stat named {};
    // Its writer may have ended since, and the name may be another writer's: nobody takes it while
    // it names the file whose lock is held here.
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && flock(file, LOCK_EX | LOCK_NB) == 0 &&
        stat(path.c_str(), &named) == 0 && named.st_ino == facts.st_ino &&
        named.st_dev == facts.st_dev)
      unlink(path.c_str());
    close(file);
  }
}

// Locks the file. Returns false if another process has it or has removed its name.
bool take(int file) {
  struct stat facts {};
  // If this file system has no locks, no process can take the file for an abandoned one.
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(file, &facts) != 0 || facts.st_nlink > 0;
}

// Creates a file beside `wanted` and puts its name into `name`. Returns -1 and sets errno if it
// cannot. The process id alone is not unique: two containers on one disk may both be process 17.
int create_temporary(const std::string& wanted, std::string& name) {
  const std::string stem = wanted + std::string(kTemporary) + std::to_string(getpid());
  for (int number = 0; number < kMostNumbers; ++number) {
    name = number == 0 ? stem : stem + "." + std::to_string(number);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) return file;
    if (file < 0) continue;
    if (take(file)) return file;
    close(file);
  }
  errno = EEXIST;
  return -1;
}

// Writes `text`.  Returns 0 or an errno.
int write_all(int file, const std::string& text) {
  const sys::HeldSignal held(SIGXFSZ);  // RLIMIT_FSIZE is an error of write(), no more
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(written);
  }
  // Some file systems report only on close that there was no room; our own descriptor stays open
  // for its lock. No fsync(): it has no time limit, and the kernel keeps the data when the
  // application ends.
  const auto other = static_cast<int>(syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 0, 0, 0));
  if (other < 0) return errno;
  return close(other) == 0 ? 0 : errno;
}

// The descriptor that `path` names; -1 if it names something else.
int descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    path.remove_prefix(folder.size());
    int descriptor = -1;
    const char* const end = path.data() + path.size();
    const auto read = std::from_chars(path.data(), end, descriptor);
    return read.ptr == end ? descriptor : -1;
  }
  return -1;
}

// A reader that takes nothing for so long takes no more.
constexpr int kPatienceWithReaderMs = 1000;

// Writes `text` to a stream.  Returns 0 or an errno.
int write_to_stream(int stream, std::string_view text) {
  const sys::HeldSignal broken_pipe(SIGPIPE);
  const sys::HeldSignal too_long(SIGXFSZ);
  while (!text.empty()) {
    pollfd room{.fd = stream, .events = POLLOUT, .revents = 0};
    const int ready = poll(&room, 1, kPatienceWithReaderMs);
    if (ready == 0) return ETIMEDOUT;
    // A pipe that has room takes so much at once.
    const ssize_t written =
        ready < 0 ? ready
                  : ::write(stream, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string write_stream(const std::string& path, std::uint64_t inode, const std::string& text) {
  const int descriptor = descriptor_of(path);
  if (descriptor < 0) {
    // Without waiting for somebody who reads.
    const int stream = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (stream < 0) return reason(path, "cannot be opened", errno);
    const int error = write_to_stream(stream, text);
    close(stream);
    return error == 0 ? "" : reason(path, "cannot be written", error);
  }
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return reason(path, "cannot be written", errno);
  if (facts.st_ino != inode) return path + ": is another file since the program has started";
  const int error = write_to_stream(descriptor, text);
  return error == 0 ? "" : reason(path, "cannot be written", error);
}

// A temporary file, locked until it has its place or is gone.
class Temporary {
 public:
  explicit Temporary(const std::string& wanted) : file_(create_temporary(wanted, name_)) {}
  ~Temporary() {
    if (file_ < 0) return;
    if (!was_moved_) unlink(name_.c_str());
    close(file_);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Replaces an existing file.
  [[nodiscard]] bool replace(const std::string& path) {
    was_moved_ = rename(name_.c_str(), path.c_str()) == 0;
    return was_moved_;
  }

 private:
  std::string name_;
  int file_;
  bool was_moved_ = false;
};

}  // namespace

std::string output_path(const OutputNaming& naming, const std::string& host_name, int process_id) {
  if (!naming.output_template.empty()) {
    return absolute(sys::expand_output_template(naming.output_template, "INLINE_PROF_OUT",
                                                host_name, process_id, naming.rank));
  }
  if (naming.rank) {
    return absolute(naming.directory + "/" + host_name + ".rank" + std::to_string(*naming.rank) +
                    ".prof.json");
  }
  if (naming.directory_is_set) return absolute(naming.directory + "/" + host_name + ".prof.json");
  return absolute("prof.json");
}

std::string metrics_path(const OutputNaming& naming, const std::string& host_name, int process_id) {
  const auto path_of = [&](int process, std::optional<std::int64_t> rank) {
    return sys::expand_output_template(naming.output_template, "INLINE_PROF_METRICS", host_name,
                                       process, rank);
  };
  std::string path = path_of(process_id, naming.rank);
  if (naming.rank && path == path_of(process_id + 1, *naming.rank + 1)) {
    const auto name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
    const auto dot = path.rfind('.');
    const auto stem = dot == std::string::npos || dot <= name ? path.size() : dot;
    path.insert(stem, ".rank" + std::to_string(*naming.rank));
  }
  return absolute(std::move(path));
}

std::string prepare_directory(const std::string& path, Existing existing) {
  struct stat facts {};
  if (is_stream(path)) {
    if (existing == Existing::kIsReplaced) return path + kNoRegularFile;
    return stat(path.c_str(), &facts) == 0 ? "" : reason(path, "cannot be written", errno);
  }
  const std::string directory = directory_of(path);
  if (!make_directories(directory)) return reason(directory, "cannot be made", errno);
  if (stat(directory.c_str(), &facts) != 0) return reason(directory, "cannot be read", errno);
  if (!S_ISDIR(facts.st_mode)) return reason(directory, "cannot hold files", ENOTDIR);
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    return reason(directory, "no file can be created there", errno);
  if (stat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode))
    return "";
  return path + kNoRegularFile;
}

bool is_stream(const std::string& path) {
  struct stat facts {};
  return descriptor_of(path) >= 0 ||
         (stat(path.c_str(), &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode)));
}

OutputFile::OutputFile(std::string path)
    : wanted_(std::move(path)), is_stream_(is_stream(wanted_)) {
  struct stat facts {};
  if (is_stream_ && stat(wanted_.c_str(), &facts) == 0) inode_ = facts.st_ino;
}

std::string OutputFile::write(const std::string& text) {
  if (is_stream_) {
    taken_ = wanted_;
    return write_stream(wanted_, inode_, text);
  }
  // The name would be the system's no more.
  if (descriptor_of(wanted_) >= 0) return wanted_ + kNoRegularFile;
  if (!has_cleaned_) remove_dead_temporaries(wanted_);
  has_cleaned_ = true;
  Temporary temporary(wanted_);
  if (temporary.file() < 0) return reason(temporary.name(), "cannot be created", errno);
  if (const int error = write_all(temporary.file(), text); error != 0)
    return reason(temporary.name(), "cannot be written", error);
  if (!taken_.empty())
    return temporary.replace(taken_) ? "" : reason(taken_, "cannot be replaced", errno);
  // link() fails if the name is taken, so two processes never share one.
  for (int number = 0; number < kMostNumbers; ++number) {
    const std::string name = number == 0 ? wanted_ : numbered(wanted_, number);
    if (link(temporary.name().c_str(), name.c_str()) == 0) {
      taken_ = name;
      return "";
    }
    if (errno == EEXIST) continue;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
      return reason(name, "cannot be created", errno);
    // A file system without hard links: take the name with O_EXCL, then move over it.
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file >= 0) close(file);
    if (file < 0 || !temporary.replace(name)) return reason(name, "cannot be created", errno);
    taken_ = name;
    return "";
  }
  return wanted_ + ": " + std::to_string(kMostNumbers) + " files of this name stand there already";
}

}  // namespace inline_prof::record
