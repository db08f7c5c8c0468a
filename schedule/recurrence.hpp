// How one kernel's occurrences cut a launch sequence into segments, and whether these repeat.
//
// What schedule/iteration_finder.hpp asks of each kernel that might be an anchor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::schedule {

using Launches = std::span<const std::uint32_t>;  // kernels numbered from 0, in launch order

// What lies between two occurrences of an anchor, again and again.
struct Cycle {
  std::vector<std::uint32_t> steady{};  // launches that every segment has, the anchor first
  std::vector<bool> varies{};           // by kernel: launched more or less often, or not at all
  std::vector<bool> interrupts{};       // by kernel: met in an evaluation between two iterations
  std::size_t first_segment = 0;        // of the run: segments without a break up to the last one
  std::size_t regular = 0;              // segments of the run that are not interrupted
  std::size_t needed = 0;               // so many regular ones make it an iteration ...
  bool is_settled = true;               // ... unless it grows, or may be a part of an iteration
  std::size_t length = 0;               // launches of a regular segment, median
  double steady_share = 0;              // of the launches of a regular segment, 0..1

  [[nodiscard]] bool is_proven() const { return is_settled && regular >= needed; }
};

// How many equal segments of `length` launches are believed.  A loop in the set-up, or over the
// layers within the first iteration, repeats as exactly as a training loop does; what tells them
// apart is that such loops end sooner, and that training does not.
//   4096 launches: 96 layers of 42 launches, 40 of 100; an unrolled recurrent network may have more
//   9 segments at least: up to 9 micro-steps of accumulated gradients are one iteration
[[nodiscard]] std::size_t needed_segments(std::size_t length);

// Studies the segments between `positions` (ascending, of one kernel, at least 5) of `launches`,
// whose kernels are below `kernel_count`.  Empty where they do not repeat; otherwise the run that
// ends at the last position, which may still be shorter than `needed`.
//
// Two readings are tried: all segments are equal, then some launches vary.  In both, a segment may
// hold an evaluation: a block of further launches at one place, mostly of kernels that the cycle
// has too.  A block of other kernels is an optimizer's step: the iteration is longer than this
// cycle, and the run ends there.
[[nodiscard]] std::optional<Cycle> study(Launches launches,
                                         std::span<const std::uint32_t> positions,
                                         std::size_t kernel_count);

}  // namespace inline_prof::schedule
