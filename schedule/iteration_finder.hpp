// Finds the iteration of a training program in the order in which one stream's kernels are
// launched.
//
// A program is taken to iterate once the launches between two occurrences of a kernel, its anchor,
// have been the same often enough (needed_segments() in schedule/recurrence.hpp): 9 times for an
// iteration of 456 launches and more, 41 times for one of 100, 4096 launches in any case.  What may
// differ: launches that depend on data, up to a quarter of the iteration, and evaluations between
// iterations.  No period is reported for programs without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace inline_prof::schedule {

struct Cycle;
class PositionLists;

// An iteration starts at the `firsts_after_anchor`-th launch of `first` after a launch of `anchor`.
struct FoundIteration {
  std::uint32_t anchor = 0;                // launched once an iteration, as late in it as possible
  std::uint32_t first = 0;                 // the iteration's first launch; may equal `anchor`
  std::size_t firsts_after_anchor = 1;     // at least 1
  std::size_t firsts_before_anchor = 1;    // in an iteration, its first launch included
  std::size_t launches_per_iteration = 0;  // median
  std::size_t periods_seen = 0;
  double confidence = 0;                        // 0..1, see IterationFinder
  std::optional<std::uint64_t> first_launch{};  // of the first iteration, counted from 0 over all
                                                // launches added; empty: it is no longer known, and
                                                // iterations are taken to end at the anchor
};

class IterationFinder {
 public:
  // Launches that are kept; never fewer than half of them.  Iterations of which ten have room there
  // are found: 13,107 launches.
  static constexpr std::size_t kMostLaunches = std::size_t{256} << 10U;
  // Programs with more kernels than this on one stream are not searched.
  static constexpr std::size_t kMostKernels = std::size_t{16} << 10U;

  // `symbol` stands for a kernel, or a graph.  True where found() has changed.  The
  // sequence is looked at when it has grown by a quarter, and when an iteration that has been seen
  // some times will have been seen often enough.  May allocate.
  bool add(std::uint32_t symbol);

  // The confidence is the share of launches that do not vary times (n + 1) / (n + 2) for n periods,
  // Laplace's rule of succession (P.-S. Laplace, Essai philosophique sur les probabilites, 1814):
  // the chance that the next period is like those before.  Halved where the boundary is not known.
  //
  // What was found may change, or be withdrawn, while launches are added: twelve micro-steps look
  // like iterations until the optimizer's step comes.
  [[nodiscard]] const std::optional<FoundIteration>& found() const { return found_; }

  [[nodiscard]] std::uint64_t launch_count() const { return dropped_ + launches_.size(); }

 private:
  [[nodiscard]] bool look();
  [[nodiscard]] bool still_holds(const PositionLists& lists);
  [[nodiscard]] bool settle_on(const Cycle& cycle, std::span<const std::uint32_t> positions);
  [[nodiscard]] bool give_up();
  void drop_older_half();

  std::unordered_map<std::uint32_t, std::uint32_t> numbers_{};  // symbol -> kernel, from 0
  std::vector<std::uint32_t> symbols_{};                        // by kernel
  std::vector<std::uint32_t> launches_{};                       // kernels, the newest last
  std::uint64_t dropped_ = 0;                                   // launches before those
  std::uint64_t next_look_ = 64;
  bool gave_up_ = false;
  std::optional<FoundIteration> found_{};
};

}  // namespace inline_prof::schedule
