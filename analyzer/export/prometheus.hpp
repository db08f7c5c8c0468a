#pragma once

#include "join/analysis.hpp"

#include <string>

namespace inline_prof::exports {

// Gauges for node_exporter's textfile collector: the iteration, its shares, the measured overhead,
// and time and ratio of every layer.  Prometheus text format 0.0.4; times in seconds and shares as
// fractions of 1, as its naming rules ask for (https://prometheus.io/docs/practices/naming/).
[[nodiscard]] std::string prometheus_report(const join::Analysis& analysis);

}  // namespace inline_prof::exports
