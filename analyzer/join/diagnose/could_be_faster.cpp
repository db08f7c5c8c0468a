#include "join/diagnose/could_be_faster.hpp"

#include "model/families/kernel_family.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace inline_prof::join {

namespace {

// A difference that is worth a line: kernels of one family differ by as much.
constexpr double kWorthOfMeasured = 0.2;

bool is_worth_it(double measured_us, double attainable_us) {
  return measured_us - attainable_us >= kWorthOfMeasured * measured_us;
}

bool has_time(const Row& row) {
  return !row.is_region && row.corrected_us && row.in_iteration_us && *row.corrected_us > 0;
}

// Returns the time of all calls in an iteration.
double attainable_us(const Row& row) {
  const double calls = *row.in_iteration_us / *row.corrected_us;
  const bool could_be_faster = row.attainable_us && !row.remedy.empty();
  return calls *
         (could_be_faster ? std::min(*row.attainable_us, *row.corrected_us) : *row.corrected_us);
}

std::string operation_of(const Row& row) {
  return row.source.empty() ? row.event.str() : row.source.str();
}

// A kernel that a compiler would make a part of its neighbour.
bool is_fusable(const Row& row) {
  static constexpr std::array<std::string_view, 6> families{
      "vectorized", "unrolled", "strided", "reduction", "cat", "cat_vectorized"};
  const model::KernelFamily* const family = model::kernel_family(row.kernel_name.str());
  // Each gradient is added to a parameter of its own.
  const bool is_of_parameters = row.layer.str().find("AccumulateGrad") != std::string::npos;
  return has_time(row) && !is_of_parameters && family != nullptr &&
         std::ranges::find(families, family->name) != families.end();
}

// Such kernels of one layer in a row on a stream, each run of them as indices into `rows`.  Longer
// runs than this work on several tensors, one after the other.
std::vector<std::vector<std::size_t>> runs_to_fuse(const std::vector<Row>& rows) {
  constexpr std::size_t least = 3, most = 16;
  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t>, std::vector<std::size_t>> streams;
  for (std::size_t i = 0; i < rows.size(); ++i)
    streams[{rows[i].profile, rows[i].device_id, rows[i].stream_index}].push_back(i);
  std::vector<std::vector<std::size_t>> runs;
  for (auto& [stream, own] : streams) {
    std::ranges::stable_sort(own, [&](std::size_t a, std::size_t b) {
      return rows[a].start_index < rows[b].start_index;
    });
    std::vector<std::size_t> run;
    const auto end_run = [&] {
      if (run.size() >= least) runs.push_back(run);
      run.clear();
    };
    for (const std::size_t i : own) {
      if (!run.empty() &&
          (run.size() == most || layer_to_fuse_in(rows[i]) != layer_to_fuse_in(rows[run[0]])))
        end_run();
      if (is_fusable(rows[i])) {
        run.push_back(i);
      } else {
        end_run();
      }
    }
    end_run();
  }
  return runs;
}

// A fused kernel keeps intermediate results in registers: it takes as long as the longest of them.
// A run may do the same with several tensors, such as query and key: as often as the rarest of its
// longer kernels comes again.
double fused_us(const std::vector<Row>& rows, const std::vector<std::size_t>& run) {
  double longest_us = 0, longest_fused_us = 0;
  for (const std::size_t i : run) {
    longest_us = std::max(longest_us, *rows[i].in_iteration_us);
    longest_fused_us = std::max(longest_fused_us, attainable_us(rows[i]));
  }
  std::map<std::string, std::size_t> times;  // by operator
  for (const std::size_t i : run)
    if (2 * *rows[i].in_iteration_us >= longest_us) ++times[operation_of(rows[i])];
  std::size_t tensors = run.size();
  for (const auto& [operation, count] : times)
    tensors = std::min(tensors, count);
  return static_cast<double>(tensors) * longest_fused_us;
}

}  // namespace

std::string layer_to_fuse_in(const Row& row) {
  // An operator without a module or annotation around it is no layer of its own.
  const std::string& layer = row.layer.str();
  return layer.starts_with("aten::") || layer.starts_with("autograd::") ? "" : layer;
}

std::vector<FusableRun> fusable_runs(const std::vector<Row>& rows) {
  std::vector<FusableRun> found;
  for (std::vector<std::size_t>& run : runs_to_fuse(rows)) {
    double measured_us = 0;
    for (const std::size_t i : run)
      measured_us += *rows[i].in_iteration_us;
    const double fused = fused_us(rows, run);
    if (is_worth_it(measured_us, fused)) found.push_back({std::move(run), measured_us, fused});
  }
  return found;
}

std::optional<Overlap> overlap_of(const std::vector<Row>& rows,
                                  const std::vector<MergedRow>& merged) {
  struct Graph {
    double kernels_us = 0.0;
    bool overlaps = false;
    bool is_complete = true;
  };
  std::map<std::size_t, Graph> graphs;  // by the merged row of the whole replay
  for (const MergedRow& row : merged) {
    if (!row.parent) continue;
    Graph& graph = graphs[*row.parent];
    graph.overlaps |= std::ranges::any_of(row.rows, [&](std::size_t device) {
      return rows[device].is_graph_node && rows[device].overlap_removed;
    });
    graph.is_complete &= row.corrected_us.has_value();
    graph.kernels_us += row.corrected_us.value_or(0.0) * static_cast<double>(row.calls);
  }
  std::optional<Overlap> overlap;
  for (const auto& [place, graph] : graphs) {
    const MergedRow& whole = merged[place];
    if (!graph.overlaps || !graph.is_complete || !whole.corrected_us) continue;
    if (!overlap) overlap.emplace();
    overlap->one_by_one_us += graph.kernels_us;
    overlap->together_us += *whole.corrected_us * static_cast<double>(whole.calls);
  }
  return overlap;
}

}  // namespace inline_prof::join
