#include "driver/timeline_log.hpp"

#include "common/settings.hpp"

#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace inline_prof::simgpu {
namespace {

// One write per line: processes share the file.
int timeline_descriptor() {
  static const int descriptor = [] {
    const auto& file = process_settings().settings.timeline_file;
    if (file.empty()) return -1;
    return open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  return descriptor;
}

}  // namespace

int this_thread() {
  return static_cast<int>(syscall(SYS_gettid));  // glibc has gettid since 2.30
}

void log_timeline(const Stream& stream, std::string_view kind, std::string_view name,
                  const TimelineOrigin& origin, Nanoseconds begin, Nanoseconds end) {
  const int file = timeline_descriptor();
  if (file < 0) return;
  std::string line(kind);
  for (const long long number :
       {static_cast<long long>(getpid()), static_cast<long long>(origin.thread),
        static_cast<long long>(stream.context->device->index),
        static_cast<long long>(stream.ordinal), static_cast<long long>(begin),
        static_cast<long long>(end - begin)}) {
    line += '\t' + std::to_string(number);
  }
  line += '\t';
  if (origin.place != nullptr) {
    line += std::to_string(origin.place->graph) + (origin.place->is_clone ? "c:" : ":") +
            std::string(origin.place->node);
  }
  line += '\t' + std::string(name) + '\n';
  // A lost line is a failed test, which is what a full disk deserves.
  [[maybe_unused]] const auto written = write(file, line.data(), line.size());
}

}  // namespace inline_prof::simgpu
