#pragma once

#include "read/input_error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

// One GPU variant, as a file of analyzer/model/machines/ describes it (docs/models/machines.md).
struct Machine {
  std::string id;                  // lower case, carries the variant: "a100-sxm4-40gb"
  std::vector<std::string> names;  // what the driver calls it
  std::string compute_capability;  // "9.0"; "" if not given
  std::int64_t sm_count = 0;
  std::optional<double> memory_gib;
  double memory_gb_per_s = 0.0;  // GB = 1e9 bytes; measured if that is known, else the data sheet's
  // In one direction, as memory_gb_per_s: to the host, and to another GPU of the kind.
  std::optional<double> host_link_gb_per_s;
  std::optional<double> peer_link_gb_per_s;
  std::optional<double> l2_mb;
  std::optional<double> l2_gb_per_s;  // measured
  std::optional<double> boost_clock_mhz;
  std::map<std::string, double>
      peak_tflops;               // dense, by number type: f64 f32 tf32 f16 bf16 f8 f4 i8
  double gemm_fraction = 1.0;    // of the peak, reached by large matrix products
  double memory_fraction = 1.0;  // of the bandwidth, reached by large streams
  double launch_floor_us = 0.0;  // no kernel is predicted to be faster
  std::map<std::string, std::string> sources;  // where each number comes from

  // Return what large streams, and large products of a type that has a peak, reach.
  [[nodiscard]] double reached_gb_per_s() const { return memory_gb_per_s * memory_fraction; }
  [[nodiscard]] double reached_tflops(const std::string& type) const {
    return peak_tflops.at(type) * gemm_fraction;
  }
  // Returns the usual clock; without one, a middle value of the shipped machines' 1380 to 2617 MHz.
  [[nodiscard]] double clock_mhz() const { return boost_clock_mhz.value_or(1700); }
};

// Throws InputError.
[[nodiscard]] Machine read_machine(std::string_view text, const std::string& label);

}  // namespace inline_prof::read
