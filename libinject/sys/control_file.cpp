#include "sys/control_file.hpp"

#include "sys/log.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

constexpr std::size_t kLongestText = 8192;  // an answer names a path

// Takes the first word of `rest`.
std::string take_word(std::string_view& rest) {
  std::string word(rest.substr(0, rest.find(' ')));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return word;
}

std::string problem_of(int file, uid_t owner) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return error_text(errno);
  if (!S_ISREG(facts.st_mode)) return "is no regular file";
  if (facts.st_uid != owner) return "belongs to another user";
  if (facts.st_size > static_cast<off_t>(kLongestText)) return "is too large for a request";
  return "";
}

}  // namespace

std::string describe_control_requests() {
  std::string text(kControlRequests.front());
  for (std::size_t i = 1; i < kControlRequests.size(); ++i)
    text.append(i + 1 < kControlRequests.size() ? ", " : " or ").append(kControlRequests[i]);
  return text;
}

ControlText read_control_file(const std::string& path, uid_t owner) {
  ControlText found;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
  if (file < 0) {
    if (errno != ENOENT && errno != ENOTDIR) found.problem = error_text(errno);
    if (errno == ELOOP) found.problem = "is a symbolic link";
    if (errno == ENXIO) found.problem = "is no regular file";  // a socket
    return found;
  }
  found.problem = problem_of(file, owner);
  std::array<char, kLongestText> text{};
  const ssize_t size = found.problem.empty() ? read(file, text.data(), text.size()) : 0;
  close(file);
  std::string_view rest(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  rest = rest.substr(0, rest.find('\n'));
  found.word = take_word(rest);
  found.id = take_word(rest);
  found.sentence = rest;
  return found;
}

}  // namespace inline_prof::sys
