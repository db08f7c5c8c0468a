// Studies how one kernel's occurrences cut a launch sequence into segments, and whether these
// repeat. schedule/iteration_finder.hpp asks this for each kernel that might be an anchor.
#pragma once

#include "schedule/launch_log.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::schedule {

// The launches between two occurrences of an anchor, which repeat.
struct Cycle {
  std::vector<std::uint32_t> steady{};  // launches that every segment has, the anchor first
  std::vector<bool> varies{};           // by kernel: launched more or less often, or not at all
  std::vector<bool> interrupts{};       // by kernel: met in an evaluation between two iterations
  std::size_t first_segment = 0;    // first of the run: segments without a break up to the last one
  std::size_t regular = 0;          // segments of the run that are not interrupted
  std::size_t needed = 0;           // this many regular ones make it an iteration ...
  std::size_t needed_soonest = 0;   // the fewest that may be needed
  bool is_settled = true;           // ... unless it grows, or may be a part of an iteration
  std::size_t length = 0;           // launches of a regular segment, median; of a graph all
  double steady_share = 0;          // of the launches of a regular segment, 0..1
  bool may_be_part = false;         // of an iteration of any number of them
  bool is_even = false;             // launches vary, but not what they do: see below
  std::size_t with_evaluation = 0;  // launches from one evaluation to the next; 0: none are seen
  std::size_t inner_length = 0;     // launches of what most of it repeats; 0: nothing
  double inner_share = 0;           // of the cycle, which that covers
  // Launches of `steady` before which the host waits, in most segments; ascending.
  std::vector<std::size_t> waits{};

  [[nodiscard]] bool is_proven() const { return is_settled && regular >= needed; }
};

// Returns how many equal segments of `length` launches are believed. A loop in the set-up, or over
// the layers within the first iteration, repeats as exactly as a training loop does, but it ends
// sooner. 4096 launches: 96 layers of 42 launches, 40 of 100; an unrolled recurrent network may
// have more. 9 segments at least: up to 9 micro-steps of accumulated gradients are one iteration.
[[nodiscard]] std::size_t needed_segments(std::size_t length);

// Returns the same for segments that have come since the anchor was first launched and that do not
// look like a loop in the set-up: equal ones that contain a loop themselves, are launches of a
// graph, or have more kernels than a layer has; or any in which the host waits at the same places.
// 2048 launches, 9 segments: half as many as above. 4 segments of 4096 launches and more: by then a
// set-up is over.
[[nodiscard]] std::size_t needed_structured_segments(std::size_t length);

// Returns the same if the host waits, or another thread continues, at the same places, and the
// kernels are not only those of a copy of weights: a short iteration is found at the program's
// pace. 20 segments, where 2048 launches would take longer.
[[nodiscard]] std::size_t needed_paced_segments(std::size_t length);

// Work that may still be done, in launches visited; see IterationFinder.
using Allowance = std::ptrdiff_t;

enum class Readings : std::uint8_t {
  kEqualOnly,  // nothing between them: for anchors of several launches, which a block may hold
  kEqual,      // evaluations may be between them
  kAll,
  kBetweenWaits,  // the positions are those of the host's waits: launches may vary more
};

// Studies the segments between `positions` (ascending, of one anchor, at least 5).  Empty where
// they do not repeat; otherwise the run that ends at the last position, which may still be shorter
// than `needed`.
//
// Two readings are tried: all segments are equal, then some launches vary.  What varies is a
// quarter of the segment at most, or any part of it where the segments are even: equally long once
// immediate repetitions of up to four launches count once, as when the data choose one of several
// kernels for a product, or how often an expert is called.  Between waits of the host it is any
// part, where eight kernels or more come equally often and in one order.
//
// In both, a segment may hold an evaluation: a block of further launches at one place, most of them
// of kernels that the cycle has too, at every n-th segment; of any kernels if the cycle updates
// parameters and the block does not.  Any other block at every n-th segment, an optimizer's step or
// a network's head, belongs to a longer iteration: the run ends.
//
// A segment may also be a variant: some of its launches are in the place of others, as where a
// server takes a prompt, or has a graph for each size of a batch; or it lacks its update.
[[nodiscard]] std::optional<Cycle> study(const LaunchLog& log,
                                         std::span<const std::uint32_t> positions,
                                         Readings readings, Allowance& allowance);

}  // namespace inline_prof::schedule
