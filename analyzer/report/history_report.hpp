// The histories of a run, for people.
#pragma once

#include "join/watch/watched_run.hpp"

#include <cstddef>
#include <string>

namespace inline_prof::report {

// Returns "layer decoder.3.mlp of rank 3 became 1.031 times slower [1.020, 1.042] at 2026-11-24
// 14:02, iteration 123,456: SM clock 1980 -> 1410 MHz: power cap".
[[nodiscard]] std::string change_words(const join::WatchedRun& run, const join::RunChange& change);

// Returns how long was watched, how often, and what it cost.
[[nodiscard]] std::string watched_words(const join::WatchedRun& run);

// Appends how long was watched, what recurs and what changed, at most `top` of each (0: all).
void add_watched(std::string& out, const join::WatchedRun& run, std::size_t top, std::size_t width);

// Returns the same, then the times of the layers.
[[nodiscard]] std::string history_text(const join::WatchedRun& run, std::size_t top,
                                       std::size_t width);

}  // namespace inline_prof::report
