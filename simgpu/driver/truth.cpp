#include "driver/truth.hpp"

#include "common/settings.hpp"
#include "driver/simulator.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace simgpu {

void Truth::add(const Launch& launch, std::uint64_t keep_durations) {
  const NodePlace place = launch.place == nullptr ? NodePlace{} : *launch.place;
  TruthRow& row = rows_[Key{launch.mangled, launch.grid, launch.device, launch.stream, place.graph,
                            place.is_clone, place.node, launch.nominal_us}];
  if (row.count == 0) demangled_[launch.mangled] = launch.demangled;
  ++row.count;
  if (row.durations.size() < keep_durations) row.durations.push_back(launch.duration);
}

std::string Truth::write(const std::string& file, const Totals& totals) const {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const auto& [key, row] : rows_) {
    const auto& [mangled, grid, device, stream, graph, in_clone, node, nominal_us] = key;
    nlohmann::ordered_json json({{"name", demangled_.at(mangled)},
                                 {"mangled", mangled},
                                 {"grid", grid},
                                 {"device", device},
                                 {"stream_index", stream},
                                 {"in_graph", graph != 0},
                                 {"nominal_us", nominal_us},
                                 {"count", row.count},
                                 {"durations_ns", row.durations}});
    if (graph != 0) json.update({{"graph", graph}, {"in_clone", in_clone}, {"node", node}});
    kernels.push_back(std::move(json));
  }
  const nlohmann::ordered_json document{{"schema", "simgpu_truth/1"},
                                        {"kernels", std::move(kernels)},
                                        {"launches", totals.launches},
                                        {"graph_launches", totals.graph_launches},
                                        {"graph_kernels", totals.graph_kernels},
                                        {"host_now_ns", totals.host_now}};
  const std::string temporary = file + ".tmp";
  std::ofstream output(temporary, std::ios::trunc);
  output << document.dump(1) << "\n";
  output.close();
  if (!output || std::rename(temporary.c_str(), file.c_str()) != 0) {
    return file + ": " + std::generic_category().message(errno);
  }
  return {};
}

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
