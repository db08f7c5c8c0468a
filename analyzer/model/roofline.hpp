// Predictions from data sheets: the least time that an operation can take, and copies.
#pragma once

#include "model/prediction.hpp"
#include "model/units.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"

#include <optional>
#include <string>
#include <vector>

namespace inline_prof::model {

// The least that an operation has to compute and to move, whatever kernel does it.
struct OpWork {
  Flop flops;                         // of matrix products; 0: bound by what is moved
  Bytes traffic;                      // every tensor once
  std::vector<std::string> operands;  // their number types; the slowest sets the peak
  std::string compute_type;           // "tf32"; empty: that of the operands
  std::string reason;                 // why nothing of this is known; else empty
};

// Gives a reason where the kind is none of which this is known, or an attribute is missing.
[[nodiscard]] OpWork work_of(const read::Op& op);

// Returns the least time that `op` can take on `machine`:
//
//   time = max(flops / (peak * gemm_fraction), bytes / (bandwidth * memory_fraction), launch_floor)
//
// Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model
// for multicore architectures", CACM 52(4), 2009, doi:10.1145/1498765.1498785; the two fractions
// and the floor are those of the machine file.  Assumes perfect overlap of arithmetic and traffic,
// every matrix read or written once, and nothing found in the L2: with inputs that are still in the
// L2 a kernel may be faster than this.  So it is a bound, no estimate, and it has no interval.
//
// Every tensor is moved once; roofline.cpp says for each kind what it computes and moves.  Other
// kinds, and operations that lack an attribute, have no prediction.
[[nodiscard]] Outcome predict_roofline(const read::Op& op, const read::Machine& machine);

// Returns what the matrix products of `op` take at the data sheet's peak; empty if it has none, or
// the machine has no peak for their type.
[[nodiscard]] std::optional<Seconds> time_at_peak(const read::Op& op, const read::Machine& machine);

// Returns the time that no kernel can beat, and what bounds it: at the data sheet's rates, not
// those that are reached, and with as much in the L2 as fits.  Convolutions are bound by what they
// move: Winograd's algorithm multiplies less.
[[nodiscard]] Prediction least_time(const read::Op& op, const read::Machine& machine);

// Copies and fills: a latency, and the bytes at what the slowest part of their way reaches
// (docs/models/copies.md).  From pageable memory of the host a bound: no interval.
[[nodiscard]] Outcome predict_copy(const read::Op& op, const read::Machine& machine);

}  // namespace inline_prof::model
