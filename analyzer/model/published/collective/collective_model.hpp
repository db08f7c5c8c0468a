#pragma once

#include "model/model.hpp"

namespace inline_prof::model {

// The published curves of collectives and of device memory, as a model on tables.
[[nodiscard]] ModelEntry collective_entry();

}  // namespace inline_prof::model
