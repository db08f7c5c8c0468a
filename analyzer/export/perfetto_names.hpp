// What both of Perfetto's formats call the things they show.
#pragma once

#include "join/analysis.hpp"
#include "join/phase_words.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace inline_prof::exports {

inline std::string device_title(const join::Run& run, std::int64_t device_id) {
  std::string name = run.profile.host_name.empty() ? run.profile.file : run.profile.host_name;
  if (run.profile.rank) name += fmt::format(", rank {}", *run.profile.rank);
  name += fmt::format(", device {}", device_id);
  const std::string phase = join::phase_name(run.profile);
  return phase.empty() ? name : name + ", " + phase;
}

// Lanes count from 0.
inline std::string lane_title(std::int64_t stream_index, std::int64_t lane) {
  return lane == 0 ? fmt::format("stream {}", stream_index)
                   : fmt::format("stream {}, level {}", stream_index, lane + 1);
}

}  // namespace inline_prof::exports
