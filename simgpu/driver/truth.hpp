// Writes what really happened on the simulated devices, to compare with a profiler's report.
#pragma once

#include "driver/context.hpp"
#include "driver/graph.hpp"
#include "driver/model.hpp"
#include "driver/timeline.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace simgpu {

struct TruthRow {
  std::uint64_t count = 0;
  std::vector<Nanoseconds> durations;  // the first SIMGPU_TRUTH_DURATIONS of them
};

// A kernel node of a graph.  A graph and its clones share their number, and nodes of a clone their
// places: what a node takes in a clone can be compared with what it takes in the original.
struct NodePlace {
  int graph = 0;          // the graphs of a process are numbered from 1
  bool is_clone = false;  // in a clone of that graph
  std::string node;       // its place in cuGraphGetNodes; "3/0": in the graph inside node 3
};

class Truth {
 public:
  struct Launch {
    const std::string& mangled;
    const std::string& demangled;
    std::array<unsigned, 3> grid;
    int device;
    int stream;
    const NodePlace* place;  // null outside graphs
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
  // mangled, grid, device, stream, graph (0: none), clone, node, nominal_us: launches of different
  // work stay apart
  using Key =
      std::tuple<std::string, std::array<unsigned, 3>, int, int, int, bool, std::string, double>;
  std::map<Key, TruthRow> rows_;
  std::map<std::string, std::string> demangled_;
};

// SIMGPU_TIMELINE: a line for each kernel, copy and fill that the device has done, launched
// directly or in a graph.

// When the calling thread last came back from waiting for a device.
inline thread_local Nanoseconds wait_ended = 0;

// `kind` is "kernel", "copy" or "fill"; `name` a kernel's mangled name, else ""; `place` is null
// outside graphs.
void log_timeline(const Stream& stream, std::string_view kind, std::string_view name,
                  const CallOrigin& origin, const NodePlace* place, Nanoseconds begin,
                  Nanoseconds end);

}  // namespace simgpu
