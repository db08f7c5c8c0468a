// prof-model fit --model collective, the published form: a table of measured curves in, curves out.
#pragma once

#include "fit/fits.hpp"
#include "model/published/collective/curve_fit.hpp"
#include "read/table.hpp"

#include <vector>

namespace inline_prof::fit {

// The curves of a table, in the order in which they first appear.  A row says its curve in a column
// `curve`, or is of the one that its collective (column `collective` or `op`), `num_gpus` and, if
// there is one, `type` make; further size_bytes or bytes, latency_us or time_us.  The bus bandwidth
// is, first found: busbw_gbps_eps; busbw_gbps plus the offset; bytes / time * factor plus the
// offset. Throws read::InputError: a missing column, a size, time or bandwidth that is not
// positive, sizes of a curve that do not ascend.
[[nodiscard]] std::vector<MeasuredCurve> measured_curves(const read::Table& table);

// A FitEntry's fit.
[[nodiscard]] FitResult fit_collective_curves(const FitRequest& request);

}  // namespace inline_prof::fit
