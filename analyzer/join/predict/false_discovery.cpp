#include "join/predict/false_discovery.hpp"

#include <algorithm>

namespace inline_prof::join {

std::vector<bool> discoveries(const std::vector<double>& p_values, double rate) {
  std::vector<double> sorted = p_values;
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  double limit = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] <= static_cast<double>(i + 1) / count * rate) limit = sorted[i];
  }
  std::vector<bool> found;
  for (const double p : p_values)
    found.push_back(p <= limit);
  return found;
}

}  // namespace inline_prof::join
