#include "join/diagnose/meetings.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace inline_prof::join {

std::vector<std::vector<std::size_t>> meetings_of(const std::vector<Row>& rows,
                                                  std::span<const std::size_t> candidates) {
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& meeting = rows[candidates[i]].meeting;
    if (!meeting.empty()) by_name[meeting].push_back(i);
  }
  std::vector<std::vector<std::size_t>> meetings;
  for (auto& [name, met] : by_name) {
    std::set<DeviceKey> devices;
    for (const std::size_t i : met)
      devices.insert(device_of(rows[candidates[i]]));
    // A device that is there twice means that the name does not tell two collectives apart.
    if (met.size() >= 2 && devices.size() == met.size()) meetings.push_back(std::move(met));
  }
  return meetings;
}

}  // namespace inline_prof::join
