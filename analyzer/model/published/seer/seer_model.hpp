#pragma once

#include "model/model.hpp"

namespace inline_prof::model {

// SEER as models of tables (docs/models/seer.md): the time of a convolution in the algorithm of a
// row, or of one of its other operators; and the time of each algorithm with the one to pick.
[[nodiscard]] ModelEntry seer_entry();
[[nodiscard]] ModelEntry seer_pick_entry();

}  // namespace inline_prof::model
