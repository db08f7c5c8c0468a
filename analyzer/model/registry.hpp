// Every model, by name: prof-model takes the one that its user names, and the predictor of
// prof-analyze those that answer an operation's kind.
#pragma once

#include "model/model.hpp"

#include <span>
#include <string_view>

namespace inline_prof::model {

// In the order in which they are listed to the user.
[[nodiscard]] std::span<const ModelEntry> all_models();

// Throws std::invalid_argument with the names there are.
[[nodiscard]] const ModelEntry& find_model(std::string_view name);

}  // namespace inline_prof::model
