#include "model/iteration/what_if.hpp"

#include "base/glob.hpp"
#include "read/layers.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace inline_prof::model {

std::vector<OtherTime> other_times(const read::WorkGraph& graph, const WhatIf& what_if) {
  std::vector<OtherTime> others;
  std::vector<bool> scale_fits(what_if.scales.size(), false);
  bool has_prediction = false;
  for (std::size_t i = 0; i < graph.works.size(); ++i) {
    const read::Work& work = graph.works[i];
    double time_us = work.time_us;
    if (what_if.is_prediction_met && work.predicted_us) {
      has_prediction = true;
      time_us = *work.predicted_us;
    }
    for (std::size_t s = 0; s < what_if.scales.size(); ++s) {
      if (!base::glob_matches(what_if.scales[s].match, work.name)) continue;
      scale_fits[s] = true;
      time_us *= what_if.scales[s].factor;
    }
    if (time_us != work.time_us) others.push_back({i, time_us});
  }
  if (what_if.is_prediction_met && !has_prediction) {
    throw std::invalid_argument("no work has a prediction to meet");
  }
  for (std::size_t s = 0; s < scale_fits.size(); ++s) {
    if (scale_fits[s]) continue;
    throw std::invalid_argument(
        fmt::format("\"{}\" fits the name of no work", what_if.scales[s].match));
  }
  return others;
}

}  // namespace inline_prof::model
