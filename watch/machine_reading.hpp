// The state of a GPU beside its times: clocks, power, temperature, reasons for low clocks, errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::watch {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A reading, or several that were merged. Values that could not be read are NaN.
struct MachineReading {
  double time_s = 0;  // of the last reading in it, since profiling began
  double sm_clock_mhz = kUnknown;
  double memory_clock_mhz = kUnknown;
  double power_w = kUnknown;
  double temperature_c = kUnknown;
  double throttle_reasons = kUnknown;  // bits of NVML's nvmlClocksEventReason*
  double ecc_errors = kUnknown;        // corrected and not, since the driver was loaded
  double nvlink_errors = kUnknown;     // of all links and kinds
};

// The values in the order of prof.json, and what stands for several readings.
enum class MergedBy : std::uint8_t { kMean, kAnyBit, kLast };
struct MachineColumn {
  const char* key;
  double MachineReading::*value;
  MergedBy merged_by;
};
inline constexpr std::array kMachineColumns{
    MachineColumn{"sm_clock_mhz", &MachineReading::sm_clock_mhz, MergedBy::kMean},
    MachineColumn{"memory_clock_mhz", &MachineReading::memory_clock_mhz, MergedBy::kMean},
    MachineColumn{"power_w", &MachineReading::power_w, MergedBy::kMean},
    MachineColumn{"temperature_c", &MachineReading::temperature_c, MergedBy::kMean},
    MachineColumn{"throttle_reasons", &MachineReading::throttle_reasons, MergedBy::kAnyBit},
    MachineColumn{"ecc_errors", &MachineReading::ecc_errors, MergedBy::kLast},
    MachineColumn{"nvlink_errors", &MachineReading::nvlink_errors, MergedBy::kLast},
};

// The readings of a device, the older the coarser: neighbours are merged to stay within the bound.
class MachineReadings {
 public:
  // 240: at 10 s apart and a month's age, neighbours are 5 % of their age apart.
  static constexpr std::size_t kMost = 240;

  // Takes a reading that is newer than those before; others are left out.
  void add(const MachineReading& reading);

  [[nodiscard]] std::span<const MachineReading> readings() const { return kept_; }

 private:
  void merge_two();

  std::vector<MachineReading> kept_{};
  std::vector<std::uint32_t> counts_{};  // readings in each
};

// nvml.h, nvmlClocksEventReason* (once nvmlClocksThrottleReason*). An idle GPU's low clocks explain
// no slow kernel.
inline constexpr std::array<std::pair<std::uint64_t, const char*>, 8> kLowClockReasons{{
    {0x002, "application clocks"},
    {0x004, "power cap"},
    {0x008, "hardware slowdown"},
    {0x010, "sync boost"},
    {0x020, "thermal slowdown by the driver"},
    {0x040, "thermal slowdown by the hardware"},
    {0x080, "power brake"},
    {0x100, "display clocks"},
}};

// Returns what the readings show of a change that began and was detected then, such as
// "SM clock 1980 -> 1410 MHz: power cap"; empty if they show nothing. A `ratio` above 1 is a
// slowdown, which low clocks explain.
[[nodiscard]] std::string reason_of_change(std::span<const MachineReading> readings, double began_s,
                                           double detected_s, double ratio);

}  // namespace inline_prof::watch
