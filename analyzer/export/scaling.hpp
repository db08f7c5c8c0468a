#pragma once

#include "join/ranks/scaling.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace inline_prof::exports {

// Schema "inline_prof_scaling/1": a time for the iteration of each run, its layer null, then those
// of the layers that take most in any run, at most `most_layers` (0: all).
[[nodiscard]] std::string scaling_json(std::span<const join::ScalingPoint> points,
                                       std::size_t most_layers);

}  // namespace inline_prof::exports
