// prof-model fit --model collective, the published form: a table of measured curves in, the three
// sections of each (curve.hpp) out.
#pragma once

#include "fit/fits.hpp"
#include "model/published/collective/curve.hpp"
#include "read/table.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::fit {

// A measured curve, in ascending size.  Rows of 0 bytes may come first: turning points count rows.
struct MeasuredCurve {
  std::string name;
  std::string collective;
  double ranks = 0.0;
  struct Row {
    double bytes, latency_us;
    double bus_gb_per_s;  // with kBandwidthOffset in it
  };
  std::vector<Row> rows = {};
};

// Logs print small bandwidths as 0.00; so much is added to each, so that it has a logarithm.
inline constexpr double kBandwidthOffset = 4e-4;  // GB/s

// The rows at which the sections of a curve meet: README.md beside this file has the rule.
struct TurningPoints {
  std::size_t linear = 0;     // last row whose bandwidth grows with the size
  std::size_t saturated = 0;  // first row near the highest bandwidth
};

struct CurveFit {
  model::collective::Curve curve;
  TurningPoints points;
  std::size_t fitted_rows = 0;  // of the middle section
  double sum_of_squares = 0.0;  // of log10 of the bandwidth
};

// Throws std::invalid_argument: too few rows, no bus factor for the collective, no fit.
[[nodiscard]] CurveFit fit_curve(const MeasuredCurve& curve);

// Returns the curves of a table, in the order in which they first appear.  A row says its curve in
// a column `curve`, or is of the one that its collective (column `collective` or `op`), `num_gpus`
// and, if there is one, `type` make; further size_bytes or bytes, latency_us or time_us.  The bus
// bandwidth is, first found: busbw_gbps_eps; busbw_gbps plus the offset; bytes / time * factor plus
// the offset. Throws read::InputError: a missing column, a size, time or bandwidth that is not
// positive, sizes of a curve that do not ascend.
[[nodiscard]] std::vector<MeasuredCurve> measured_curves(const read::Table& table);

// A FitEntry's fit.
[[nodiscard]] FitResult fit_collective_curves(const FitRequest& request);

}  // namespace inline_prof::fit
