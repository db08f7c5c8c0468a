#include "join/samples.hpp"

#include <algorithm>

namespace inline_prof::join {

Samples collect_samples(const read::Event& event, const EventBias& bias) {
  Samples samples;
  for (std::size_t i = 0; i < event.measured_ms.size(); ++i) {
    const double raw_us = event.measured_ms[i] * 1e3;
    samples.raw_us.push_back(raw_us);
    samples.unbiased_us.push_back(raw_us - bias.of_sample_us(event, i));
    if (i < event.tight.size() && event.tight[i] == read::Tight::kNo) ++samples.not_tight;
  }
  return samples;
}

void append(Samples& all, const Samples& more) {
  all.raw_us.insert(all.raw_us.end(), more.raw_us.begin(), more.raw_us.end());
  all.unbiased_us.insert(all.unbiased_us.end(), more.unbiased_us.begin(), more.unbiased_us.end());
  all.not_tight += more.not_tight;
}

double summarise(Statistic statistic, const std::vector<double>& values) {
  switch (statistic) {
    case Statistic::kMedian:
      return median(values);
    case Statistic::kMean:
      return mean(values);
    case Statistic::kMin:
      break;
  }
  if (values.empty()) throw std::invalid_argument("minimum of nothing");
  return *std::min_element(values.begin(), values.end());
}

}  // namespace inline_prof::join
