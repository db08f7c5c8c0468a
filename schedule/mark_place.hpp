// Tells iterations that an application marks with a call by two of its launches instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace inline_prof::schedule {

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
