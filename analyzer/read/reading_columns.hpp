// The values of a machine's readings, as prof.json calls them.
#pragma once

#include "watch/machine_reading.hpp"

#include <inline_prof/prof_format.hpp>

#include <array>
#include <string_view>

namespace inline_prof::read {

struct ReadingColumn {
  std::string_view key;
  double watch::MachineReading::*value;
};
inline constexpr std::array kReadingColumns{
    ReadingColumn{format::machine::kSmClockMhz.key, &watch::MachineReading::sm_clock_mhz},
    ReadingColumn{format::machine::kMemoryClockMhz.key, &watch::MachineReading::memory_clock_mhz},
    ReadingColumn{format::machine::kPowerW.key, &watch::MachineReading::power_w},
    ReadingColumn{format::machine::kTemperatureC.key, &watch::MachineReading::temperature_c},
    ReadingColumn{format::machine::kThrottleReasons.key, &watch::MachineReading::throttle_reasons},
    ReadingColumn{format::machine::kEccErrors.key, &watch::MachineReading::ecc_errors},
    ReadingColumn{format::machine::kNvlinkErrors.key, &watch::MachineReading::nvlink_errors}};

}  // namespace inline_prof::read
