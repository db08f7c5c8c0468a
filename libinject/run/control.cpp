#include "run/control.hpp"

#include "base/command_line.hpp"
#include "sys/config.hpp"
#include "sys/control_file.hpp"
#include "sys/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace inline_prof::run {
namespace {

using cli::UsageError;
using Clock = std::chrono::steady_clock;

// A process whose library is asked. What it cannot be asked for ends in a runtime_error.
class Asked {
 public:
  explicit Asked(int process)
      : process_(process), folder_(fmt::format("/proc/{}", process)), path_(find_path()) {}

  void ask(const std::string& request) {
    id_ = fmt::format("{}.{}", getpid(), Clock::now().time_since_epoch().count());
    const std::string part = fmt::format("{}.{}", path_, getpid());
    const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) fail(part);
    const std::string text = request + " " + id_ + "\n";
    // The library reads no other user's requests, not even root's.
    const bool is_well = write(file, text.data(), text.size()) == std::ssize(text) &&
                         (geteuid() == owner_ || fchown(file, owner_, getegid()) == 0);
    close(file);
    if (is_well && rename(part.c_str(), path_.c_str()) == 0) return;
    const int error = errno;
    unlink(part.c_str());
    errno = error;
    fail(path_);
  }

  // True once there is an answer, which is in `sentence`.
  bool has_answered(bool& is_done, std::string& sentence) const {
    const sys::ControlText found = sys::read_control_file(path_, owner_);
    is_done = found.word == sys::kDone;
    if (found.id != id_ || (!is_done && found.word != sys::kRefused)) return false;
    sentence = found.sentence;
    unlink(path_.c_str());
    return true;
  }

  // Takes the request back, and returns why there was no answer.
  std::string give_up(int seconds) const {
    if (access(folder_.c_str(), F_OK) != 0) return "the process has ended";
    if (sys::read_control_file(path_, owner_).id == id_) unlink(path_.c_str());
    return fmt::format(
        "no answer in {} s through {}: the process is stopped, has not used the GPU yet, or "
        "measures nothing any more",
        seconds, path_);
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
  }

  [[nodiscard]] std::string read(const char* name) const {
    errno = 0;
    std::ifstream stream(folder_ + "/" + name);
    if (!stream && errno == EACCES) throw std::runtime_error("belongs to another user");
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  // Returns the path that the library has, from the environment that the process was started with.
  std::string find_path() {
    struct stat facts {};
    if (stat(folder_.c_str(), &facts) != 0) throw std::runtime_error("there is no such process");
    owner_ = facts.st_uid;
    if (read("maps").find("/libinline_prof.so") == std::string::npos)
      throw std::runtime_error("libinline_prof.so is not loaded in this process");
    clearenv();
    const std::string environment = read("environ");
    for (std::size_t at = 0; at < environment.size();) {
      const std::string entry = environment.c_str() + at;
      at += entry.size() + 1;
      if (const auto equals = entry.find('='); equals != std::string::npos)
        setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
    const auto config = sys::read_config();
    if (!config) throw std::runtime_error("its settings say that it measures nothing");
    // As the process itself sees it, which may be in a container.
    return folder_ + "/root" +
           sys::expand_output_template(config->control_template, "INLINE_PROF_CONTROL",
                                       sys::host_name(), own_process_id(), config->rank);
  }

  // The last of "NSpid: 4711 12" (proc_pid_status(5)).
  [[nodiscard]] int own_process_id() const {
    const std::string status = read("status");
    const std::size_t line = status.find("\nNSpid:");
    if (line == std::string::npos) return process_;
    const std::size_t end = status.find('\n', line + 1);
    return std::atoi(status.c_str() + status.find_last_of("\t ", end) + 1);
  }

  int process_;
  std::string folder_;
  uid_t owner_ = 0;
  std::string path_;
  std::string id_;
};

struct Line {
  std::string process;
  std::optional<Asked> asked{};
  bool is_done = false;
  std::string sentence{};  // empty: it is waited for
};

Line ask(const std::string& word, const std::string& request) {
  int process = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), process);
  if (error != std::errc() || end != word.data() + word.size() || process <= 0)
    throw UsageError(fmt::format("{}: expected a process id", word));
  Line line{.process = word};
  try {
    line.asked.emplace(process).ask(request);
  } catch (const std::exception& problem) {
    line.sentence = problem.what();
  }
  return line;
}

}  // namespace

bool control(const std::vector<std::string>& words, int seconds) {
  if (words.size() < 2 ||
      std::ranges::find(sys::kControlRequests, words.back()) == sys::kControlRequests.end())
    throw UsageError(
        fmt::format("expected process ids, then {}", sys::describe_control_requests()));
  std::vector<Line> lines;
  lines.reserve(words.size());
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    lines.push_back(ask(words[i], words.back()));
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  bool all_are_done = true;
  for (Line& line : lines) {
    while (line.sentence.empty() && !line.asked->has_answered(line.is_done, line.sentence)) {
      if (Clock::now() > until) line.sentence = line.asked->give_up(seconds);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    fmt::print(line.is_done ? stdout : stderr, "{}: {}\n", line.process, line.sentence);
    all_are_done = all_are_done && line.is_done;
  }
  return all_are_done;
}

}  // namespace inline_prof::run
