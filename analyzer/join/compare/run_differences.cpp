#include "join/compare/run_differences.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

namespace inline_prof::join {
namespace {

using Values = std::set<std::string>;

template <typename Collect>
void compare(std::vector<Difference>& differences, const Analysis& before, const Analysis& after,
             std::string_view what, const Collect& collect) {
  Values of_before;
  Values of_after;
  for (const Run& run : before.runs)
    collect(run.profile, of_before);
  for (const Run& run : after.runs)
    collect(run.profile, of_after);
  if (of_before.empty() || of_after.empty() || of_before == of_after) return;
  differences.push_back(
      {std::string(what), fmt::format("{}: {} before, {} after", what, fmt::join(of_before, ", "),
                                      fmt::join(of_after, ", "))});
}

void collect_clocks(const read::Profile& profile, Values& values) {
  for (const read::Device& device : profile.devices) {
    if (device.sm_clock_khz == 0 && device.memory_clock_khz == 0) continue;
    values.insert(fmt::format("SM {} MHz, memory {} MHz", device.sm_clock_khz / 1000,
                              device.memory_clock_khz / 1000));
  }
}

void collect_parts(const read::Profile& profile, Values& values) {
  for (const read::Device& device : profile.devices) {
    values.insert(fmt::format("{}{}", device.mig ? "MIG" : "whole GPU",
                              device.mps_percent && *device.mps_percent < 100
                                  ? fmt::format(", MPS {:g} %", *device.mps_percent)
                                  : ""));
  }
}

}  // namespace

std::vector<Difference> run_differences(const Analysis& before, const Analysis& after) {
  std::vector<Difference> differences;
  const auto check = [&](std::string_view what, const auto& collect) {
    compare(differences, before, after, what, collect);
  };
  check("gpu", [](const read::Profile& profile, Values& values) {
    for (const read::Device& device : profile.devices) {
      if (!device.name.empty()) values.insert(device.name);
    }
  });
  check("clocks", collect_clocks);
  check("mig", collect_parts);
  check("driver", [](const read::Profile& profile, Values& values) {
    for (const read::Device& device : profile.devices) {
      if (!device.driver_version.empty()) values.insert(device.driver_version);
    }
  });
  check("libraries", [](const read::Profile& profile, Values& values) {
    for (const auto& [name, version] : profile.libraries)
      values.insert(fmt::format("{} {}", name, version));
  });
  return differences;
}

}  // namespace inline_prof::join
