#pragma once

#include "join/analysis.hpp"
#include "join/event_bias.hpp"
#include "join/join.hpp"

namespace inline_prof::join {

// Samples of one event, raw and with the bias taken off each of them.
struct Samples {
  std::vector<double> raw_us;
  std::vector<double> unbiased_us;
  std::size_t not_tight = 0;
};

[[nodiscard]] Samples collect_samples(const read::Event& event, const EventBias& bias);
void append(Samples& all, const Samples& more);

// Throws std::invalid_argument if there is no sample.
[[nodiscard]] double summarise(Statistic statistic, const std::vector<double>& values);

}  // namespace inline_prof::join
