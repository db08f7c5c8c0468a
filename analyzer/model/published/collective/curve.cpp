#include "model/published/collective/curve.hpp"

#include <cmath>

namespace inline_prof::model::collective {
namespace {

constexpr double kBytesPerGbUs = 1000.0;  // GB/s * us in bytes

// Each rank keeps its own part: so much of the whole goes over the links.
double others_part(double ranks) {
  return (ranks - 1) / ranks;
}

}  // namespace

std::optional<double> original_bus_factor(std::string_view collective, double ranks) {
  if (collective == "all_reduce") return 2 * (ranks - 1) / ranks;
  if (collective == "all_to_all" || collective == "all_to_allv" || collective == "all_gather" ||
      collective == "all_gather_base" || collective == "reduce_scatter") {
    return others_part(ranks);
  }
  if (collective == "reduce" || collective == "memory") return 1.0;
  return std::nullopt;
}

std::optional<double> bus_factor(std::string_view collective, double ranks) {
  if (collective == "gather" || collective == "scatter") return others_part(ranks);
  if (collective == "broadcast" || collective == "sendrecv" || collective == "hypercube") {
    return 1.0;
  }
  return original_bus_factor(collective, ranks);
}

double Sigmoid::at(double x) const {
  return height / (1 + std::exp(-slope * (x - centre))) + base;
}

Section Curve::section(double bytes) const {
  const double x = std::log2(bytes);  // -inf for no bytes: the first section
  if (x <= linear_until) return Section::kLatency;
  return x <= saturated_from ? Section::kSigmoid : Section::kSaturated;
}

double Curve::bus_gb_per_s(double bytes) const {
  switch (section(bytes)) {
    case Section::kLatency:
      return bytes / overhead_us * bus_factor / kBytesPerGbUs;
    case Section::kSigmoid:
      return std::pow(10, sigmoid.at(std::log2(bytes)));
    case Section::kSaturated:
      return max_bus_gb_per_s;
  }
  return 0.0;
}

double Curve::time_us(double bytes) const {
  switch (section(bytes)) {
    case Section::kLatency:
      return overhead_us;
    case Section::kSigmoid:
      return bytes / bus_gb_per_s(bytes) * bus_factor / kBytesPerGbUs;
    case Section::kSaturated:
      return bytes / max_bus_gb_per_s * bus_factor / kBytesPerGbUs + overhead_us;
  }
  return 0.0;
}

}  // namespace inline_prof::model::collective
