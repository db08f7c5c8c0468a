// Operations that another kernel would do in less time, though the one that ran is as fast as such
// kernels are: what an aligned, contiguous or newer one would take, or one in place of several.
#pragma once

#include "join/rows/row.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace inline_prof::join {

// Equal operations of equal layers together.  Times are those of all their calls in an iteration,
// as means over devices.
struct Improvement {
  std::string layers;     // with * where they are numbered: "Block_*/Linear_*"
  std::string operation;  // the operator, else the event
  std::string remedy;
  std::size_t rows = 0;  // of each device, or runs of rows
  double measured_us = 0;
  double attainable_us = 0;

  [[nodiscard]] double saved_us() const { return measured_us - attainable_us; }
};

// Element-wise kernels of one layer in a row on a stream, which a compiler would make one.
struct FusableRun {
  std::vector<std::size_t> rows;  // in the order of their launches
  double measured_us = 0;         // of all their calls in an iteration
  double fused_us = 0;            // of the kernels in their place
};

// Returns the layer in which a compiler could fuse; empty where only an operator is known.
[[nodiscard]] std::string layer_to_fuse_in(const Row& row);

// Returns those where fusing saves enough for a line.
[[nodiscard]] std::vector<FusableRun> fusable_runs(const std::vector<Row>& rows);

// Returns those that save most first.
[[nodiscard]] std::vector<Improvement> find_improvements(const std::vector<Row>& rows);

}  // namespace inline_prof::join
