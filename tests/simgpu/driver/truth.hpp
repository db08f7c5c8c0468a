// What really happened on the simulated devices, for comparison with what a profiler reports.
#pragma once

#include "driver/model.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace inline_prof::simgpu {

struct TruthRow {
  std::uint64_t count = 0;
  std::vector<Nanoseconds> durations;  // the first SIMGPU_TRUTH_DURATIONS of them
};

class Truth {
 public:
  struct Launch {
    const std::string& mangled;
    const std::string& demangled;
    std::array<unsigned, 3> grid;
    int device;
    int stream;
    bool in_graph;
    double nominal_us;
    Nanoseconds duration;
  };
  void add(const Launch& launch, std::uint64_t keep_durations);

  struct Totals {
    std::uint64_t launches = 0, graph_launches = 0, graph_kernels = 0;
    Nanoseconds host_now = 0;
  };
  // Writes FILE.tmp and renames it.  Returns an empty string, or what went wrong.
  [[nodiscard]] std::string write(const std::string& file, const Totals& totals) const;

 private:
  // mangled, grid, device, stream, in_graph, nominal_us: launches of different work stay apart
  using Key = std::tuple<std::string, std::array<unsigned, 3>, int, int, bool, double>;
  std::map<Key, TruthRow> rows_;
  std::map<std::string, std::string> demangled_;
};

}  // namespace inline_prof::simgpu
