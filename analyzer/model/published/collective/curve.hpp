// Time of a collective from one measured bandwidth curve: the three sections of Lin et al.
#pragma once

#include <optional>
#include <string_view>

namespace inline_prof::model::collective {

// What turns the bandwidth that an application sees (bytes / time) into the one that the links
// carry, as the original has it; empty where it ends with a KeyError (gather, scatter, broadcast,
// sendrecv).  Words as PARAM writes them: "all_reduce", "all_to_allv".
[[nodiscard]] std::optional<double> original_bus_factor(std::string_view collective, double ranks);

// The same for all collectives of nccl-tests (doc/PERFORMANCE.md there): what `busbw` means in its
// logs.  Empty for an unknown word.
[[nodiscard]] std::optional<double> bus_factor(std::string_view collective, double ranks);

// log10 of the bus bandwidth over x = log2(bytes): height / (1 + exp(-slope * (x - centre))) +
// base.
struct Sigmoid {
  double height = 0.0;
  double centre = 0.0;
  double slope = 0.0;
  double base = 0.0;

  [[nodiscard]] double at(double x) const;
};

enum class Section { kLatency, kSigmoid, kSaturated };

[[nodiscard]] constexpr std::string_view section_name(Section section) {
  switch (section) {
    case Section::kLatency:
      return "latency";
    case Section::kSigmoid:
      return "sigmoid";
    case Section::kSaturated:
      return "saturated";
  }
  return "";
}

// A curve for one collective on one number of ranks.
//
//   bytes <= 2^linear_until          overhead
//   bytes <= 2^saturated_from        bytes / 10^sigmoid(log2 bytes) * bus_factor
//   above                            bytes / max_bandwidth * bus_factor + overhead
//
// Source: Z. Lin et al., "Towards Universal Performance Modeling for Machine Learning Training on
// Multi-GPU Platforms", IEEE TPDS 2024, arXiv:2404.12674; owensgroup/ml_perf_model at 5b2522a,
// analysis/memory_bw_utils.py.  It jumps at both borders: just above the first one the time may be
// less than the overhead, and the overhead comes back only above the second one.
struct Curve {
  double bus_factor = 1.0;
  double linear_until = 0.0;    // log2 of bytes
  double saturated_from = 0.0;  // log2 of bytes
  double max_bus_gb_per_s = 0.0;
  double overhead_us = 0.0;
  Sigmoid sigmoid;

  [[nodiscard]] Section section(double bytes) const;
  [[nodiscard]] double bus_gb_per_s(double bytes) const;
  [[nodiscard]] double time_us(double bytes) const;
};

}  // namespace inline_prof::model::collective
