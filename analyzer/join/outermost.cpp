#include "join/outermost.hpp"

#include <algorithm>

namespace inline_prof::join {
namespace {

void collect(const std::vector<Row>& rows, const std::vector<std::vector<std::size_t>>& children,
             std::size_t outermost, std::vector<std::size_t>& found) {
  std::vector<std::size_t> to_do{outermost};
  while (!to_do.empty()) {
    const std::size_t i = to_do.back();
    to_do.pop_back();
    if (rows[i].in_iteration_us) {
      found.push_back(i);
    } else {
      to_do.insert(to_do.end(), children[i].begin(), children[i].end());
    }
  }
}

}  // namespace

std::map<DeviceKey, std::vector<std::size_t>> outermost_rows(
    const std::vector<Row>& rows, const std::vector<std::vector<std::size_t>>& children) {
  std::map<DeviceKey, std::vector<std::size_t>> outermost;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& of_device = outermost[{rows[i].profile, rows[i].device_id}];
    if (!rows[i].parent) collect(rows, children, i, of_device);
  }
  for (auto& [device, of_device] : outermost) {
    std::stable_sort(of_device.begin(), of_device.end(), [&](std::size_t a, std::size_t b) {
      return rows[a].start_index < rows[b].start_index;
    });
  }
  return outermost;
}

bool is_outermost_of_layer(const std::vector<MergedRow>& merged, std::size_t row) {
  for (auto parent = merged[row].parent; parent; parent = merged[*parent].parent) {
    if (merged[*parent].layer == merged[row].layer) return false;
  }
  return true;
}

}  // namespace inline_prof::join
