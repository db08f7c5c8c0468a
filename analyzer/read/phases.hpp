// Which phase of a run with several is shown: a profile's events and times are those of one.
#pragma once

#include "read/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inline_prof::read {

// The launches of an iteration, as sorted hashes: equal in all files of a program, in this process.
struct Launched {
  std::vector<std::uint64_t> kernels;  // event, occurrence, and whether a graph launches it
  std::vector<std::uint64_t> grids;    // the same, with the grid
};
[[nodiscard]] Launched launched_in(const Profile& profile, std::size_t phase);

// The phase that took most of the time, where nothing else is said.
struct PhaseChoice {
  std::optional<std::size_t> number{};  // from 1, in order of appearance
  std::optional<Launched> like{};       // the one that launches most of this
  bool all = false;  // all stay: events of several phases are those of no iteration
};

// The one that took most of the time, of those that were measured; their shares are set.
[[nodiscard]] std::size_t main_phase(const Profile& profile);

// Sets the phases' shares of the time, and leaves the events and times of the phase that is chosen.
// Throws InputError where there is no phase of this number.
void show_phase(Profile& profile, const PhaseChoice& choice);

// "phase 2 of 3"; empty for a run with one.
[[nodiscard]] std::string phase_name(const Profile& profile);

// "381 iterations from 20 on, each a graph of 97 kernels; 93.0 % of the time; ..."
[[nodiscard]] std::string phase_words(const Phase& phase);

}  // namespace inline_prof::read
