// What an operation has to compute and to move at the least, whatever kernel does it.
#pragma once

#include "model/units.hpp"
#include "read/op.hpp"

#include <string>
#include <vector>

namespace inline_prof::model {

struct OpWork {
  Flop flops;                         // of matrix products; 0: bound by what is moved
  Bytes traffic;                      // every tensor once
  std::vector<std::string> operands;  // their number types; the slowest sets the peak
  std::string compute_type;           // "tf32"; empty: that of the operands
  std::string reason;                 // why nothing of this is known; else empty
};

// Kinds of which this is not known give a reason.
[[nodiscard]] OpWork work_of(const read::Op& op);

}  // namespace inline_prof::model
