// Arming this iteration's targets.  With the state's mutex held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inline_prof::hook {

struct State;

void arm(State& state, std::span<const std::size_t> targets, std::int64_t iteration);
void disarm() noexcept;
// Of the iteration that ends: it holds more or fewer launches than it should.
[[nodiscard]] bool is_iteration_void() noexcept;
// Something that is armed was launched more or less often than in the warm-up.
[[nodiscard]] bool some_armed_were_not_as_expected() noexcept;
// Discards the samples of functions that were launched more or less often than in the warm-up, or
// whose iteration was invalid, since it is unknown which launch was measured.  Returns their
// number.
std::uint32_t drop_samples_of_irregular_iteration() noexcept;

}  // namespace inline_prof::hook
