#include "join/diagnose/could_be_faster.hpp"

#include "join/rows/layer_pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace inline_prof::join {
namespace {

// A difference that is worth a line: kernels of one family differ by as much.
constexpr double kWorthOfMeasured = 0.2;

}  // namespace

std::vector<Improvement> find_improvements(const std::vector<Row>& rows) {
  std::set<std::pair<std::size_t, std::int64_t>> devices;
  std::map<std::tuple<std::string, std::string, std::string>, Improvement> groups;
  for (const Row& row : rows) {
    devices.emplace(row.profile, row.device_id);
    if (row.is_region || row.remedy.empty() || !row.attainable_us || !row.corrected_us ||
        !row.in_iteration_us || !(*row.corrected_us > 0)) {
      continue;
    }
    const double calls = *row.in_iteration_us / *row.corrected_us;
    const double attainable_us = calls * *row.attainable_us;
    if (*row.in_iteration_us - attainable_us < kWorthOfMeasured * *row.in_iteration_us) continue;
    const std::string layers = layer_pattern(row.layer.str());
    const std::string operation = row.source.empty() ? row.event.str() : row.source.str();
    Improvement& group = groups[{layers, operation, row.remedy.str()}];
    group.layers = layers;
    group.operation = operation;
    group.remedy = row.remedy.str();
    group.rows += 1;
    group.measured_us += *row.in_iteration_us;
    group.attainable_us += attainable_us;
  }
  std::vector<Improvement> improvements;
  for (auto& [key, group] : groups) {
    const auto count = static_cast<double>(devices.size());
    group.rows = (group.rows + devices.size() - 1) / devices.size();
    group.measured_us /= count;
    group.attainable_us /= count;
    improvements.push_back(std::move(group));
  }
  std::stable_sort(improvements.begin(), improvements.end(),
                   [](const auto& a, const auto& b) { return a.saved_us() > b.saved_us(); });
  return improvements;
}

}  // namespace inline_prof::join
