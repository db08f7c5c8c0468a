#include "driver/timeline_log.hpp"

#include "common/settings.hpp"
#include "driver/simulator.hpp"

#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace simgpu {
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

CallOrigin Simulator::origin_of_this_call() const {
  // glibc has gettid since 2.30
  return {.thread = static_cast<int>(syscall(SYS_gettid)),
          .launch = launches,
          .asked = engine.host_now(),
          .waited = wait_ended};
}

void log_timeline(const Stream& stream, std::string_view kind, std::string_view name,
                  const CallOrigin& origin, const NodePlace* place, Nanoseconds begin,
                  Nanoseconds end) {
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
  if (place != nullptr) {
    line +=
        std::to_string(place->graph) + (place->is_clone ? "c:" : ":") + std::string(place->node);
  }
  line += '\t' + std::string(name);
  for (const std::uint64_t number : {origin.launch, static_cast<std::uint64_t>(origin.asked),
                                     static_cast<std::uint64_t>(origin.waited)}) {
    line += '\t' + std::to_string(number);
  }
  line += '\n';
  // A lost line is a failed test, which is what a full disk deserves.
  [[maybe_unused]] const auto written = write(file, line.data(), line.size());
}

}  // namespace simgpu
