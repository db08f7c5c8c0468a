#pragma once

#include "model/prediction.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"

namespace inline_prof::model {

// The least time that `op` can take on `machine`:
//
//   time = max(flops / (peak * gemm_fraction), bytes / (bandwidth * memory_fraction), launch_floor)
//
// Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model
// for multicore architectures", CACM 52(4), 2009, doi:10.1145/1498765.1498785; the two fractions
// and the floor are those of the machine file.  Assumes perfect overlap of arithmetic and traffic,
// every matrix read or written once, and nothing found in the L2: with inputs that are still in the
// L2 a kernel may be faster than this.  So it is a bound, no estimate, and it has no interval.
//
// What each kind computes and moves says op_work.hpp.  Other kinds, and operations that lack an
// attribute, have no prediction.
[[nodiscard]] Outcome predict_roofline(const read::Op& op, const read::Machine& machine);

}  // namespace inline_prof::model
