// Arming this iteration's targets.  With the state's mutex held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inline_prof::hook {

struct State;

void arm(State& state, std::span<const std::size_t> targets, std::int64_t iteration);
void disarm() noexcept;
// An armed function was launched more or less often than in the iterations of the warm-up, or the
// iteration was none: which launch was measured is not known.  Returns how many samples go.
std::uint32_t drop_samples_of_irregular_iteration() noexcept;

}  // namespace inline_prof::hook
