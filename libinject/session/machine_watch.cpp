#include "session/machine_watch.hpp"

#include "session/session.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <utility>

namespace inline_prof::session {
namespace {

constexpr double kSecondsBetweenReadings = 10;
constexpr double kPatienceWithNvml = 60;

// A change that was found before the readings show it is explained later, up to this age.
constexpr double kLatestReason = 60;

}  // namespace

void MachineWatch::every_second() {
  if (!session_.watching.has_begun()) return;
  const double now_s = sys::monotonic_seconds() - session_.phases.began_s();
  if (const auto answer = reader_.take()) {
    waits_since_s_ = 0;
    keep(*answer);
    if (!answer->problem.empty()) say_once(*answer);
    explain_late(now_s);
  }
  if (waits_since_s_ > 0) {
    if (now_s - waits_since_s_ > kPatienceWithNvml) {
      say_once({.problem = "NVML does not answer: clocks, power and errors of the GPU are not "
                           "recorded while it does not"});
    }
    return;
  }
  if (asked_s_ > 0 && now_s - asked_s_ < kSecondsBetweenReadings) return;
  std::vector<record::MonitoredDevice> devices;
  {
    const std::lock_guard lock(session_.run.mutex);
    for (const record::DeviceInfo& device : session_.run.devices)
      devices.push_back({.device_id = device.device_id, .uuid = device.uuid});
  }
  asked_s_ = now_s;
  if (reader_.ask(devices)) waits_since_s_ = now_s;
}

void MachineWatch::keep(const record::MachineAnswer& answer) {
  const std::lock_guard lock(session_.run.mutex);
  auto& machine = session_.run.watch->machine;
  for (const auto& [device_id, absolute] : answer.devices) {
    auto found = std::ranges::find(machine, device_id, &record::MachineHistory::device_id);
    if (found == machine.end()) found = machine.insert(found, {.device_id = device_id});
    watch::MachineReading reading = absolute;
    reading.time_s -= session_.phases.began_s();
    found->readings.add(reading);
  }
}

// A machine without NVML is nothing that a user has to mend.
void MachineWatch::say_once(const record::MachineAnswer& answer) {
  if (std::exchange(has_said_problem_, true)) return;
  if (answer.is_missing) return sys::say(sys::LogLevel::kInfo, "%s", answer.problem.c_str());
  session_.warn(answer.problem);
}

void MachineWatch::explain_late(double now_s) {
  const std::lock_guard lock(session_.run.mutex);
  for (record::FoundChange& found : session_.run.watch->changes) {
    if (found.reason.empty() && now_s - found.change.detected_s < kLatestReason)
      found.reason = reason_with_record(found, now_s);
  }
}

std::string MachineWatch::reason_of(const record::FoundChange& found, double until_s) {
  const std::lock_guard lock(session_.run.mutex);
  return reason_with_record(found, until_s);
}

// An iteration may be slow because of any device.
std::string MachineWatch::reason_with_record(const record::FoundChange& found, double until_s) {
  for (const record::MachineHistory& each : session_.run.watch->machine) {
    if (found.of != record::FoundChange::Of::kIteration && each.device_id != found.device_id)
      continue;
    std::string reason = watch::reason_of_change(each.readings.readings(), found.change.began_s,
                                                 until_s, found.change.ratio);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace inline_prof::session
