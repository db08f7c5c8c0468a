#include "sys/process.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace inline_prof::sys {

std::string_view beginning_of(const char* path, std::span<char> room) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = read(file, room.data(), room.size());
  close(file);
  return {room.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

namespace {

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// Returns the script, or the module of -m, in an interpreter's arguments; empty if it has neither.
std::string script_name() {
  std::array<char, 4096> text{};
  std::string_view rest = beginning_of("/proc/self/cmdline", text);
  bool is_first = true;
  bool is_value = false;  // of the option before
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (is_first || is_value) {
      is_value = false;
    } else if (word == "-m") {
      return std::string(rest.substr(0, rest.find('\0')));
    } else if (word == "-c") {
      return "";
    } else if (!word.starts_with('-')) {
      return last_part(word);
    } else {
      is_value = word == "-X" || word == "-W";
    }
    is_first = false;
  }
  return "";
}

}  // namespace

std::string command_name() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return "unknown";
  const std::string_view whole(path.data(), static_cast<std::size_t>(length));
  const std::string program = last_part(whole);
  const std::string script = program.starts_with("python") ? script_name() : "";
  return script.empty() ? program : script;
}

std::string utc_time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> text{};
  if (gmtime_r(&now, &parts) == nullptr) return "";
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string kernel_driver_version() {
  std::array<char, 512> text{};
  // The first word that looks like 580.159 or 580.159.03.
  const std::string_view all = beginning_of("/proc/driver/nvidia/version", text);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(all[i])) == 0) continue;
    std::size_t end = i;
    bool dot = false;
    while (end < all.size() &&
           (std::isdigit(static_cast<unsigned char>(all[end])) != 0 || all[end] == '.')) {
      dot = dot || all[end] == '.';
      ++end;
    }
    if (dot && end - i >= 5) return std::string(all.substr(i, end - i));
    i = end;
  }
  return "";
}

}  // namespace inline_prof::sys
