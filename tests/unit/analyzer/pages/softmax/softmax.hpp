// An example of a model, as docs/how_to_add.md describes it: softmax of rows, bytes over bandwidth,
// and a launch.
#pragma once

#include "model/model.hpp"

namespace inline_prof::model {

[[nodiscard]] ModelEntry softmax_entry();

}  // namespace inline_prof::model
