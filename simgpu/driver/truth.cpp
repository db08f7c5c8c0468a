#include "driver/truth.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

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

}  // namespace simgpu
