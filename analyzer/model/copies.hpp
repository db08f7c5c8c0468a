// Copies and fills: a latency, and the bytes at what the slowest part of their way reaches
// (docs/models/copies.md).
#pragma once

#include "model/prediction.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"

namespace inline_prof::model {

// Of an operation of kind copy.  From pageable memory of the host a bound: no interval.
[[nodiscard]] Outcome predict_copy(const read::Op& op, const read::Machine& machine);

}  // namespace inline_prof::model
