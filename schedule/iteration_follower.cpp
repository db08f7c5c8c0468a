#include "schedule/iteration_follower.hpp"

namespace inline_prof::schedule {

Step IterationFollower::on_first() noexcept {
  if (place_ == Place::kUnknown) return Step::kNothing;
  ++firsts_;
  if (place_ == Place::kBehindAnchor) {
    if (firsts_ < after_anchor_) return Step::kNothing;
    place_ = Place::kInside;
    firsts_ = 1;
    return Step::kStarts;
  }
  if (firsts_ <= before_anchor_) return Step::kNothing;
  // More than an iteration has before its anchor.  Where it has one only, each further one is a
  // start, and the last of them is the iteration's; where it has several, none can be told apart.
  if (before_anchor_ == 1) return Step::kStartsAgain;
  return firsts_ == before_anchor_ + 1 ? Step::kVoid : Step::kNothing;
}

Step IterationFollower::on_anchor() noexcept {
  const Place place = place_;
  const std::size_t firsts = firsts_;
  place_ = Place::kBehindAnchor;
  firsts_ = 0;
  if (place == Place::kUnknown) return Step::kNothing;
  if (place == Place::kBehindAnchor || firsts < before_anchor_) {
    ++breaks_;
    return Step::kBroken;
  }
  breaks_ = 0;
  return Step::kNothing;
}

}  // namespace inline_prof::schedule
