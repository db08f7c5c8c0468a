#include "join/place/placement.hpp"

#include "join/place/lanes.hpp"
#include "join/place/offsets_in_order.hpp"
#include "join/rows/nesting.hpp"

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

void find_outermost(const std::vector<Row>& rows, std::map<DeviceKey, DevicePlacement>& devices) {
  const auto children = children_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    DevicePlacement& device = devices[device_of(rows[i])];
    if (!rows[i].parent) collect(rows, children, i, device.rows);
  }
  for (auto& [key, device] : devices)
    std::ranges::stable_sort(device.rows, {}, [&](std::size_t i) { return rows[i].start_index; });
}

}  // namespace

Placement placement_of(const std::vector<Run>& runs, const std::vector<Row>& rows) {
  Placement placement;
  find_outermost(rows, placement.devices);
  for (auto& [key, device] : placement.devices) {
    const auto stream_of = [&](std::size_t i) { return rows[i].stream_index; };
    device.has_others = runs[key.first].profile.world_size.value_or(1) > 1 ||
                        std::ranges::any_of(device.rows, [&](std::size_t i) {
                          return stream_of(i) != stream_of(device.rows.front());
                        });
    std::map<std::size_t, double> in_order;
    if (std::ranges::any_of(device.rows,
                            [&](std::size_t i) { return rows[i].mean_offset_us.has_value(); }))
      in_order = offsets_in_order(rows, device.rows, device.has_others);
    Lanes lanes;
    Replays replays;
    for (const std::size_t i : device.rows) {
      const auto better = in_order.find(i);
      const auto seen_us =
          better != in_order.end() ? std::optional(better->second) : rows[i].offset_us;
      const auto [lane, start_us] = lanes.place(rows[i], seen_us);
      placement.places[i] = {.lane = lane,
                             .start_us = start_us,
                             .end_us = start_us + *rows[i].in_iteration_us,
                             .seen_us = seen_us,
                             .is_inside_replay = replays.is_inside(rows[i])};
    }
    device.lanes = lanes.count();
  }
  return placement;
}

}  // namespace inline_prof::join
