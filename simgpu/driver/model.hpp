// The model file: what the device is, how long kernels, copies and API calls take.
#pragma once

#include "common/settings.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simgpu {

using Nanoseconds = std::int64_t;

[[nodiscard]] Nanoseconds from_microseconds(double us);

class ModelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceDescription {
  std::string name;
  int sm_count = 0;
  int compute_major = 0, compute_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;
  int sm_clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 0;
  int shared_bytes_per_sm = 0;
  int shared_bytes_per_block_optin = 0;
};

// Costs on the host's clock, one per kind of call.
struct HostCosts {
  double launch_us = 0, graph_launch_us = 0, event_record_us = 0, query_us = 0, wait_us = 0;
  double copy_us = 0, allocate_us = 0, other_us = 0;
};

struct CopyCosts {
  double base_us = 0, host_gb_per_s = 0, device_gb_per_s = 0;
};

struct EventCosts {
  double pair_bias_us = 0;         // stream time of one record: what an empty pair reads
  double pair_jitter_us = 0;       // its standard deviation
  double kernel_pair_bias_us = 0;  // added to a record that follows a kernel
  double graph_pair_bias_us = 0;   // stream time of a record that is a graph node
  double resolution_us = 0;        // time stamps are rounded down to it; 0: 1 ns
};

// The properties of a launch that rules can ask for.
struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};
  int device = 0;
  double flops = 0;  // 0: not told
  double bytes = 0;

  [[nodiscard]] double blocks() const {
    return static_cast<double>(grid[0]) * static_cast<double>(grid[1]) *
           static_cast<double>(grid[2]);
  }
};

// duration = latency_us + max(duration_us + per_block_us * blocks, flops / rate, bytes / rate)
struct Rule {
  std::string name;  // glob on the mangled or the demangled kernel name
  std::optional<std::array<unsigned, 3>> grid;
  std::optional<int> device;
  double latency_us = 0;
  double duration_us = 0;
  double per_block_us = 0;
  double tflops = 0;          // 0: the flops do not matter
  double gb_per_s = 0;        // 0: the bytes do not matter
  double droop = 1;           // times the duration, once the rule's kernels have run for
  double droop_after_us = 0;  // so long without another kernel between them, or a pause
  std::optional<double> noise;
  int registers = 32;
  int static_shared_bytes = 0;

  [[nodiscard]] bool matches_name(const std::string& mangled, const std::string& demangled) const;
  [[nodiscard]] bool matches_launch(const LaunchShape& shape) const;
  [[nodiscard]] double nominal_us(const LaunchShape& shape) const;
};

struct Model {
  DeviceDescription device;
  int driver_version = 0;
  HostCosts host;
  CopyCosts copies;
  EventCosts events;
  double noise = 0;  // relative standard deviation of kernel times
  int queue_depth = 0;
  double programmatic_overlap_us =
      0;                    // how much sooner a kernel begins that may overlap with the one before
  std::vector<Rule> rules;  // first match wins; the last one matches everything

  [[nodiscard]] std::vector<const Rule*> rules_for(const std::string& mangled,
                                                   const std::string& demangled) const;
};

// Reads `default_file`, which must be complete, then `settings.model_file` over it (its rules come
// first), then the single values of `settings`.
// Throws ModelError("FILE: PLACE: what was expected").
[[nodiscard]] Model read_model(const std::string& default_file, const Settings& settings);

// The names of a simulated device; the driver and NVML report the same.

inline std::array<unsigned char, 16> device_uuid(int device) {
  std::array<unsigned char, 16> uuid{'s', 'i', 'm', 'g', 'p', 'u', 0x40, 0, 0x80};
  uuid[15] = static_cast<unsigned char>(device);
  return uuid;
}

inline unsigned device_pci_bus(int device) {
  return static_cast<unsigned>(device + 1) & 0xffU;
}

// "[domain]:[bus]:[device].[function]" with `domain_digits` for the domain.
inline std::string device_pci_bus_id(int device, int domain_digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*x:%02x:00.0", domain_digits, 0U, device_pci_bus(device));
  return text;
}

}  // namespace simgpu
