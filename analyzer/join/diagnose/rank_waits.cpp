#include "join/diagnose/rank_waits.hpp"

#include "join/place/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace inline_prof::join {
namespace {

// The rows of one collective, each of another device.
struct Meeting {
  std::vector<std::size_t> rows;
  std::size_t last = 0;  // that of the device that comes last
};

std::vector<Meeting> timed_meetings(const std::vector<Row>& rows) {
  std::vector<std::size_t> timed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].corrected_us && !rows[i].any_occurrence) timed.push_back(i);
  }
  std::vector<Meeting> meetings;
  for (std::vector<std::size_t>& met : meetings_of(rows, timed)) {
    for (std::size_t& i : met)
      i = timed[i];
    const std::size_t last =
        *std::ranges::min_element(met, {}, [&](std::size_t i) { return *rows[i].corrected_us; });
    meetings.push_back({.rows = std::move(met), .last = last});
  }
  return meetings;
}

}  // namespace

std::vector<Row> with_waits(std::vector<Row> rows) {
  for (const Meeting& meeting : timed_meetings(rows)) {
    for (const std::size_t i : meeting.rows) {
      rows[i].waited_us = *rows[i].corrected_us - *rows[meeting.last].corrected_us;
      // They were of the whole time.
      rows[i].p_slower.reset();
      rows[i].p_faster.reset();
    }
  }
  return rows;
}

std::vector<RankWait> rank_waits(const std::vector<Row>& rows, const Placement& placement,
                                 const IterationShares& shares) {
  if (!shares.shares_us) return {};
  std::map<std::pair<DeviceKey, DeviceKey>, RankWait> waits;  // who waits, and for whom
  std::map<DeviceKey, DeviceTime> times;
  for (const Meeting& meeting : timed_meetings(rows)) {
    const DeviceKey last = device_of(rows[meeting.last]);
    for (const std::size_t i : meeting.rows) {
      const Row& row = rows[i];
      if (!row.in_iteration_us || !row.waited_us || *row.waited_us <= 0) continue;
      const double us = *row.waited_us * *row.in_iteration_us / *row.corrected_us;
      const DeviceKey own = device_of(row);
      RankWait& wait = waits[{own, last}];
      wait.profile = own.first;
      wait.device_id = own.second;
      wait.for_profile = last.first;
      wait.for_device_id = last.second;
      wait.us += us;
      const auto time = times.try_emplace(own, placement, placement.devices.at(own)).first;
      wait.exposed_us += time->second.exposed_us(i, us);
    }
  }
  std::vector<RankWait> found;
  found.reserve(waits.size());
  for (const auto& [devices, wait] : waits)
    found.push_back(wait);
  return found;
}

std::vector<LastDevice> last_devices(const std::vector<RankWait>& waits,
                                     const std::vector<Run>& runs) {
  std::set<DeviceKey> devices;
  for (const RankWait& wait : waits) {
    devices.insert({wait.profile, wait.device_id});
    devices.insert({wait.for_profile, wait.for_device_id});
  }
  std::map<DeviceKey, LastDevice> found;
  for (const RankWait& wait : waits) {
    const auto& iteration_us = runs[wait.profile].iteration.us;
    if (!iteration_us) continue;
    const double percent = 100.0 / *iteration_us / static_cast<double>(devices.size() - 1);
    LastDevice& last = found[{wait.for_profile, wait.for_device_id}];
    last.profile = wait.for_profile;
    last.device_id = wait.for_device_id;
    last.percent += wait.us * percent;
    last.exposed_percent += wait.exposed_us * percent;
  }
  std::vector<LastDevice> sorted;
  sorted.reserve(found.size());
  for (const auto& [device, last] : found)
    sorted.push_back(last);
  std::ranges::stable_sort(sorted, std::greater{}, &LastDevice::exposed_percent);
  return sorted;
}

std::string name_of(const LastDevice& device, const std::vector<Run>& runs) {
  const read::Profile& profile = runs[device.profile].profile;
  const std::string& host = profile.host_name.empty() ? profile.file : profile.host_name;
  const std::string place = fmt::format("{}, device {}", host, device.device_id);
  return profile.rank ? fmt::format("rank {} ({})", *profile.rank, place) : place;
}

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
