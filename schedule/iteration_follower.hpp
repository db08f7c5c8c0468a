// Follows iterations once they have been found, from the launches of two kernels only.
#pragma once

#include "schedule/iteration_finder.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace inline_prof::schedule {

enum class Step : std::uint8_t {
  kNothing,
  kStarts,       // an iteration starts before this launch
  kStartsAgain,  // the same, and the previous one was no iteration, but e.g. an evaluation
  kVoid,         // the iteration begun last holds more than it should; the next start is good again
  kBroken,       // the pattern does not hold; the next start is good again
};

// A follower. It is told of every launch of `anchor` and of `first` on the stream, in their order,
// and of nothing else. If one kernel is both, on_first() comes before on_anchor() for each launch.
class IterationFollower {
 public:
  static constexpr std::size_t kLongestWord = 512;

  explicit IterationFollower(const FoundIteration& iteration)
      : is_group_(iteration.is_group),
        before_anchor_(iteration.firsts_before_anchor),
        after_anchor_(iteration.firsts_after_anchor),
        of_evaluation_(iteration.firsts_of_evaluation),
        word_(iteration.word),
        letters_(iteration.word.size()) {}

  [[nodiscard]] Step on_first() noexcept;
  [[nodiscard]] Step on_anchor() noexcept;

  // Returns true if the program has changed: three iterations in a row did not match.
  [[nodiscard]] bool is_lost() const noexcept { return breaks_ >= 3; }

 private:
  // Used if the anchor is launched several times an iteration.
  [[nodiscard]] Step on_letter(bool is_first) noexcept;
  void find_place_in_word() noexcept;

  enum class Place : std::uint8_t { kUnknown, kInside, kBehindAnchor };

  bool is_group_;
  std::size_t before_anchor_;
  std::size_t after_anchor_;
  std::size_t of_evaluation_;
  Place place_ = Place::kUnknown;
  std::size_t firsts_ = 0;  // launches of `first` since the place was entered
  int breaks_ = 0;          // in a row

  std::vector<bool> word_;     // FoundIteration::word
  std::vector<bool> letters_;  // the last ones, while the place is searched for
  std::size_t letters_seen_ = 0;
  std::optional<std::size_t> next_letter_{};  // its place in the word, if known
};

// Returns where iterations start in `launches`, of which `found` names two, without those that turn
// out to be none; up to where the follower is lost.
[[nodiscard]] std::vector<std::size_t> starts_in(std::span<const std::uint32_t> launches,
                                                 const FoundIteration& found);

// Tells iterations that an application marks with a call by two of its launches instead.

// The place of the call among one stream's launches: the first `behind` after a launch of `before`,
// which is only there so.
struct MarkPlace {
  std::uint32_t before = 0;
  std::uint32_t behind = 0;
  std::uint32_t befores = 0;  // launches of `before` in an iteration
};

// Finds the place of a call that falls before the first and after the last launch of `iteration`, a
// list of kernels' numbers.  None if no two kernels tell it.
[[nodiscard]] std::optional<MarkPlace> find_mark_place(std::span<const std::uint32_t> iteration);

// Follows the launches of the two kernels.
class MarkFollower {
 public:
  MarkFollower() = default;
  // Begins at a call.
  explicit MarkFollower(const MarkPlace& place) : expected_(place.befores) {}

  enum class Step : std::uint8_t { kNothing, kStarts, kBroken };
  // kBroken: the call would not fall here; the next iteration is told again.
  [[nodiscard]] Step on_before() noexcept;
  [[nodiscard]] Step on_behind() noexcept;

  // True if a call that comes now falls on the place.
  [[nodiscard]] bool is_at_mark() const noexcept {
    return is_behind_ && befores_ == expected_ && !is_broken_;
  }
  // The call has come: the next launch of `behind` is its iteration's.
  void begin_at_call() noexcept;

 private:
  std::uint32_t expected_ = 0;
  std::uint32_t befores_ = 0;  // since the iteration began
  bool is_behind_ = false;     // a launch of `before` was the last one of the two
  bool is_broken_ = false;     // in this iteration
};

}  // namespace inline_prof::schedule
