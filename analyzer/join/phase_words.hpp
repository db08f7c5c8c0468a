// A run's phases in words, the same in every report.
#pragma once

#include "read/profile.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::join {

// "phase 2 of 3"; empty for a run with one.
[[nodiscard]] std::string phase_name(const read::Profile& profile);

// "381 iterations from 20 on, each a graph of 97 kernels; 93.0 % of the time; ..."
[[nodiscard]] std::string phase_words(const read::Phase& phase);

}  // namespace inline_prof::join
