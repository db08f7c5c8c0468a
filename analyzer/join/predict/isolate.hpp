// Times of a run beside those of the same operations alone on the GPU: what makes the difference?
#pragma once

#include "join/rows/row.hpp"
#include "read/isolated.hpp"
#include "read/op.hpp"

#include <cstddef>
#include <vector>

namespace inline_prof::join {

// Measured rows with a known operation, and those of them that were measured alone.
struct IsolatedRows {
  std::size_t with_op = 0;
  std::size_t found = 0;
};

// Fills in Row::isolated where the operation was measured alone.  `ops` are those of the rows, null
// where they are not known.  Rows must have been predicted.
IsolatedRows set_isolated(std::vector<Row>& rows, const std::vector<const read::Op*>& ops,
                          const read::IsolatedTimes& times);

}  // namespace inline_prof::join
