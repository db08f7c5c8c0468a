#pragma once

#include "read/profile.hpp"

#include <span>
#include <string>

namespace inline_prof::exports {

// What the original inline profiler's parse_result() returned, as print_result() printed it
// (HugeCTR, tools/profiler/__init__.py, 2021): for each file the host, the mean iteration and, for
// each device
// ("device_0") and stream ("stream_0", numbered over all devices in order of first appearance), its
// events by start_index with the means of their samples.  Means are of raw times; nothing is
// dropped or corrected.  An event without samples, which the original could not hold, is left out.
[[nodiscard]] std::string original_report(std::span<const read::Profile> profiles);

}  // namespace inline_prof::exports
