#include "join/diagnose/could_be_faster.hpp"

#include "join/rows/layer_pattern.hpp"
#include "model/families/kernel_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

// A difference that is worth a line: kernels of one family differ by as much.
constexpr double kWorthOfMeasured = 0.2;
constexpr double kWorthOfAll = 0.0005;

bool is_worth_it(double measured_us, double attainable_us) {
  return measured_us - attainable_us >= kWorthOfMeasured * measured_us;
}

// Adds up what equal layers could save.
class Groups {
 public:
  void add(const SharedText& layer, const std::string& operation, const std::string& remedy,
           double measured_us, double attainable_us) {
    if (!is_worth_it(measured_us, attainable_us)) return;
    const std::string layers = layer_pattern(layer.str());
    Improvement& group = groups_[{layers, operation, remedy}];
    group.layers = layers;
    group.operation = operation;
    group.remedy = remedy;
    group.rows += 1;
    group.measured_us += measured_us;
    group.attainable_us += attainable_us;
  }

  // As means over devices, those that save most first.  What saves less than `least_us` is left
  // out.
  [[nodiscard]] std::vector<Improvement> list(std::size_t devices, double least_us) const {
    std::vector<Improvement> improvements;
    const auto count = static_cast<double>(devices);
    for (auto [key, group] : groups_) {
      group.rows = (group.rows + devices - 1) / devices;
      group.measured_us /= count;
      group.attainable_us /= count;
      if (group.saved_us() >= least_us) improvements.push_back(std::move(group));
    }
    std::ranges::stable_sort(
        improvements, [](const auto& a, const auto& b) { return a.saved_us() > b.saved_us(); });
    return improvements;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::string>, Improvement> groups_;
};

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

std::vector<Improvement> find_improvements(const std::vector<Row>& rows) {
  std::set<DeviceKey> devices;
  double all_us = 0;
  for (const Row& row : rows) {
    devices.insert(device_of(row));
    if (has_time(row)) all_us += *row.in_iteration_us;
  }
  Groups groups;
  std::vector<bool> is_in_run(rows.size(), false);
  for (const FusableRun& run : fusable_runs(rows)) {
    for (const std::size_t i : run.rows)
      is_in_run[i] = true;
    groups.add(rows[run.rows.front()].layer,
               fmt::format("{} element-wise kernels in a row", run.rows.size()),
               "one kernel could do all of it: fuse them (torch.compile)", run.measured_us,
               run.fused_us);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (is_in_run[i] || !has_time(row) || row.remedy.empty()) continue;
    groups.add(row.layer, row.source.empty() ? row.event.str() : row.source.str(), row.remedy.str(),
               *row.in_iteration_us, attainable_us(row));
  }
  const std::size_t count = std::max<std::size_t>(devices.size(), 1);
  return groups.list(count, kWorthOfAll * all_us / static_cast<double>(count));
}

}  // namespace inline_prof::join
