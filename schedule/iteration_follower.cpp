#include "schedule/iteration_follower.hpp"

#include <algorithm>

namespace inline_prof::schedule {

Step IterationFollower::on_first() noexcept {
  if (!word_.empty()) return on_letter(true);
  if (place_ == Place::kUnknown) return Step::kNothing;
  ++firsts_;
  if (place_ == Place::kBehindAnchor) {
    if (firsts_ < after_anchor_) return Step::kNothing;
    place_ = Place::kInside;
    firsts_ = 1;
    return Step::kStarts;
  }
  if (before_anchor_ == 0 || firsts_ <= before_anchor_) return Step::kNothing;
  // There are more than an iteration has before its anchor. If it has only one, each further one is
  // a start, and the last is the iteration's; if it has several, the start is told only behind as
  // many as evaluations have.
  if (before_anchor_ == 1) return Step::kStartsAgain;
  if (firsts_ == of_evaluation_ + 1) {
    const bool is_void = of_evaluation_ > before_anchor_;
    firsts_ = 1;
    return is_void ? Step::kStarts : Step::kStartsAgain;
  }
  return firsts_ == before_anchor_ + 1 ? Step::kVoid : Step::kNothing;
}

Step IterationFollower::on_anchor() noexcept {
  if (!word_.empty()) return on_letter(false);
  const Place place = place_;
  const std::size_t firsts = firsts_;
  if (is_group_ && place == Place::kBehindAnchor && firsts == 0) return Step::kNothing;
  place_ = Place::kBehindAnchor;
  firsts_ = 0;
  if (place == Place::kUnknown) return Step::kNothing;
  const bool is_again = place == Place::kBehindAnchor && before_anchor_ != 0;
  if (is_again || firsts < before_anchor_) {
    ++breaks_;
    return Step::kBroken;
  }
  breaks_ = 0;
  return Step::kNothing;
}

Step IterationFollower::on_letter(bool is_first) noexcept {
  if (!next_letter_) {
    letters_[letters_seen_++] = is_first;
    if (letters_seen_ == letters_.size()) find_place_in_word();
    return Step::kNothing;
  }
  const std::size_t place = *next_letter_;
  if (word_[place] != is_first) {
    next_letter_.reset();
    ++breaks_;
    return Step::kBroken;
  }
  next_letter_ = place + 1;
  if (*next_letter_ == word_.size()) {
    next_letter_ = 0;
    breaks_ = 0;
  }
  return place == 0 ? Step::kStarts : Step::kNothing;
}

// The letters are the word from some place on, and from one place only, unless the word is a
// repetition. Otherwise as many further ones are read.
void IterationFollower::find_place_in_word() noexcept {
  letters_seen_ = 0;
  for (std::size_t place = 0; place < word_.size(); ++place) {
    const auto middle = word_.begin() + static_cast<std::ptrdiff_t>(place);
    const auto rest = letters_.end() - static_cast<std::ptrdiff_t>(place);
    if (std::equal(middle, word_.end(), letters_.begin()) &&
        std::equal(rest, letters_.end(), word_.begin())) {
      next_letter_ = place;
      return;
    }
  }
}

std::vector<std::size_t> starts_in(std::span<const std::uint32_t> launches,
                                   const FoundIteration& found) {
  IterationFollower follower(found);
  std::vector<std::size_t> starts;
  const auto take = [&](Step step, std::size_t launch) {
    if (step != Step::kNothing && step != Step::kStarts && !starts.empty()) starts.pop_back();
    if (step == Step::kStarts || step == Step::kStartsAgain) starts.push_back(launch);
  };
  for (std::size_t i = 0; i < launches.size() && !follower.is_lost(); ++i) {
    if (launches[i] == found.first) take(follower.on_first(), i);
    if (launches[i] == found.anchor) take(follower.on_anchor(), i);
  }
  return starts;
}

}  // namespace inline_prof::schedule
