#include "join/diagnose/could_be_faster.hpp"

#include <algorithm>
#include <cctype>
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

// "Block_12/Linear_36" and "blocks.3.attn" with * for their numbers.
std::string pattern_of(std::string_view layer) {
  std::string pattern;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(layer[i])) != 0;
    const bool begins_number = is_digit && (i == 0 || std::string_view("_./").find(layer[i - 1]) !=
                                                          std::string_view::npos);
    if (!begins_number) {
      pattern += layer[i];
      continue;
    }
    pattern += '*';
    while (i + 1 < layer.size() && std::isdigit(static_cast<unsigned char>(layer[i + 1])) != 0)
      ++i;
  }
  return pattern;
}

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
    const std::string layers = pattern_of(row.layer.str());
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
