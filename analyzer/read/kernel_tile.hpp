// The tile in the name of a kernel that multiplies matrices.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

namespace inline_prof::read {

// Returns the first "AxB" in a kernel's name whose numbers can be sides of a tile: columns, then
// rows of a row-major C.
[[nodiscard]] std::optional<std::pair<double, double>> tile_in(std::string_view name);

}  // namespace inline_prof::read
