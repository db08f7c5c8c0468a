#pragma once

#include "model/published/seer/parameters.hpp"

#include <filesystem>
#include <string>

namespace inline_prof::model::seer {

// SEER's parameters from a file:
//   * "inline_prof_params/1" of the model seer, as seer_parameters_text() writes them, or
//   * a table of coefficients (columns model, kind, coef, and nlinfit or value) with its table of
//     trees beside it: the same folder, "coeffs" in the name replaced by "trees" (columns tree,
//     node, feature, feature_index, threshold, left, right, value, n).  Without that file there are
//     no trees.
// Throws read::InputError with its place: an unknown model, kind or tree, a coefficient given twice
// or left out, a tree that does not hang together.
[[nodiscard]] Parameters read_seer_parameters(const std::filesystem::path& file);

// The JSON text of "parameters" in a parameter file: a list of numbers for each set of
// coefficients, "MODEL KIND", and for each tree one of six numbers a node (feature, threshold,
// left, right, value, rows).
[[nodiscard]] std::string seer_parameters_text(const Parameters& parameters);

}  // namespace inline_prof::model::seer
